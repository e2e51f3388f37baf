"""Searching for settings: a grid or optuna's trials, evaluated on validation links only, kept in a folder."""
