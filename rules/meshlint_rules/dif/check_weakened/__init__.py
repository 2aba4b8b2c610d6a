"""DIF002: a change that takes out a check on parallel sizes."""
