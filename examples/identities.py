# ruff: noqa: T201
"""The same people in three networks: find who is who, check it against the truth, and say why.

    python examples/identities.py

The network is planted, so that the truth is known. Everything below works alike on a graph of your own.
"""

import mpxgat as mx


def main() -> None:
    whole = mx.synthetic.social(people=300, layers=3, seed=1, mean_degree=12, overlap=0.7)
    print(whole)

    # A fifth of the people lose all links between layers: accounts that nobody has linked yet.
    split = mx.splits.held_out_units(whole, seed=1)
    model = mx.Evidence(seed=1).fit(split.train)

    result = mx.evaluate(model, split)
    values = result.inter.values
    print(f"who is who: AUC {values['auc']:.3f}, true counterpart first in {values['hits@1']:.0%} of the cases")

    # One to one, consistent over all layers, and nothing below the threshold.
    matches = model.match_all(threshold=0.6)
    hidden = {tuple(pair) for pair in split.inter.positives.tolist()}
    right = sum(tuple(pair) in hidden for pair in matches.pairs.tolist())
    print(f"{len(matches)} pairs matched, {right} of them right, {len(hidden)} were hidden")
    for outcome in matches.outcomes:
        print(outcome)

    # Why the surest match is one. A match that follows from others is explained by the pair that joins them.
    first, second = matches.joined_by[matches.probability.argmax()].tolist()
    explanation = model.explain(first, second)
    print(f"{whole.nodes[first]} and {whole.nodes[second]}: p = {explanation.probability:.2f}")
    print(f"  {explanation.base:+6.2f}  before any evidence")
    for reason in explanation.reasons:
        print(f"  {reason.contribution:+6.2f}  {reason.label}: {reason.finding}")
    print(f"  {explanation.score:+6.2f}  all together (log-odds)")


if __name__ == "__main__":
    main()
