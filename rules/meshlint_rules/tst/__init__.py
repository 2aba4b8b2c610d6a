"""Rules of the family tst: distributed tests."""
