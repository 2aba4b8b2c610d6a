"""PKD004: packed sequences with a2a+p2p on a Transformer Engine that refuses them."""
