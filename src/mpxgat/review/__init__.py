"""Pairs put before a person: which are worth asking about, what was decided, and what follows from it."""
