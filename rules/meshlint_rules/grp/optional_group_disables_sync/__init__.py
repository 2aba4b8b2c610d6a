"""GRP005: a call without the group that makes its function agree with other ranks."""
