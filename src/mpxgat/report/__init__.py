"""Pages to look at: a run, or recorded results, as one HTML file that needs no network."""
