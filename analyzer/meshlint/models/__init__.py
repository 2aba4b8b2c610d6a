"""The library models: data, one file a library, each entry with its upstream source."""
