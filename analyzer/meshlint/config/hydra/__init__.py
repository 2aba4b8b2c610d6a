"""Hydra and OmegaConf, read and never run: overrides, interpolation, defaults lists, merged with provenance.

The fast path of what people write. What it does not know (sweeps, functions, custom resolvers) is unknown with the
reason. The tests compare it with the real hydra-core and omegaconf.
"""
