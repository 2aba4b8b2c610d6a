"""The shapes of models: layers, heads, experts, kind of attention, by hub id or from a local `config.json`."""
