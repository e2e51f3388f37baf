"""Evidence about pairs of nodes, computed on a training graph, and the judge that learns to weigh it."""
