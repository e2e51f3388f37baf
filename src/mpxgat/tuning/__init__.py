"""Searching for settings: a grid or optuna's trials, judged on validation links only, kept in a folder."""
