"""Which version of a library runs: read from whatever fixes it near a launch.

`find.find` looks upward from a launch; `tables` holds what upstream's releases, images and commits stand for.
"""
