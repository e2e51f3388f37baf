import math

import pytest
import torch
from torch import nn

from mpxgat.errors import SettingError, TrainingError
from mpxgat.nn.projection import SomeRows, table
from mpxgat.training.checkpoint import Checkpoint
from mpxgat.training.loop import Schedule, train


class Line:
    """Fits w to 3 with noise from the epoch's number; validation is better the nearer w is."""

    def __init__(self, validation=True, losses=None):
        self.module = nn.Linear(1, 1, bias=False)
        nn.init.zeros_(self.module.weight)
        self.validation = validation
        self.given = losses
        self.epochs = []

    def losses(self, epoch):
        self.epochs.append(epoch)
        noise = torch.rand(1, generator=torch.Generator().manual_seed(epoch))
        loss = (self.module.weight - 3 - noise).square().sum()
        yield loss if self.given is None else loss * self.given[epoch]

    def validate(self):
        return -abs(3.5 - float(self.module.weight.detach())) if self.validation else None

    def readings(self):
        return {"w": float(self.module.weight.detach())}


def test_it_learns_and_keeps_the_best_parameters():
    line = Line()
    outcome = train(line, Schedule(epochs=400, check_every=5, patience=10, lr=0.05, weight_decay=0))
    best = max(outcome.history, key=lambda row: row["validation"])
    assert float(line.module.weight.detach()) == pytest.approx(best["w"])
    assert outcome.best_value == best["validation"] > -0.1
    assert outcome.best_epoch == best["epoch"]
    assert not line.module.training


def test_it_stops_when_validation_no_longer_rises():
    outcome = train(Line(), Schedule(epochs=5000, check_every=5, patience=4, lr=0.1, weight_decay=0))
    assert outcome.epochs == outcome.best_epoch + 4 * 5 < 5000


def test_it_tells_when_and_why_it_stops_early():
    def last_report(**schedule):
        reports = []
        train(Line(), Schedule(check_every=5, lr=0.1, weight_decay=0, **schedule), report=reports.append)
        assert not any(report.stalled for report in reports[:-1])
        return reports[-1]

    assert last_report(epochs=5000, patience=4).stalled == 20
    assert last_report(epochs=10, patience=4).stalled is None


def test_of_equal_values_the_first_epoch_is_the_best():
    line = Line()
    values = iter([0.5, 0.7, 0.7, 0.6, 0.7])
    line.validate = lambda: next(values)
    outcome = train(line, Schedule(epochs=50, check_every=1, patience=3, lr=0.1))
    assert (outcome.best_epoch, outcome.best_value, outcome.epochs) == (2, 0.7, 5)
    assert float(line.module.weight.detach()) == outcome.history[1]["w"] != outcome.history[2]["w"]


def test_without_validation_it_runs_to_the_end_and_keeps_the_last():
    line = Line(validation=False)
    outcome = train(line, Schedule(epochs=23, check_every=5, lr=0.1))
    assert (outcome.epochs, outcome.best_value) == (23, None)
    assert [row["epoch"] for row in outcome.history] == [5, 10, 15, 20, 23]
    assert outcome.history[-1]["w"] == float(line.module.weight.detach())


def test_no_epochs_leave_the_initial_parameters():
    line = Line()
    assert train(line, Schedule(epochs=0)).epochs == 0
    assert float(line.module.weight.detach()) == 0


def test_the_rate_rises_to_its_full_value():
    schedule = Schedule(lr=0.4, warm_up=3)
    assert [schedule.rate(epoch) for epoch in range(6)] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.4, 0.4])
    assert Schedule(lr=0.4).rate(0) == 0.4
    line, warmed = Line(), Line()
    for each, warm_up in ((line, 0), (warmed, 1)):
        train(each, Schedule(epochs=1, lr=0.1, weight_decay=0, warm_up=warm_up))
    # Adam's first step is the rate, whatever the gradient
    assert float(warmed.module.weight.detach()) == pytest.approx(float(line.module.weight.detach()) / 2)


def test_interrupted_anywhere_and_resumed_it_ends_the_same(tmp_path):
    schedule = Schedule(epochs=60, check_every=5, patience=50, lr=0.05, warm_up=25)
    whole = Line()
    expected = train(whole, schedule)

    checkpoint = Checkpoint(tmp_path / "line.safetensors", {"task": "line"}, save_every=0)
    starts = []
    for stop_at in (1, 2, 13, 40, 59):
        line = Line()

        def stop(report, stop_at=stop_at):
            if report.epoch == stop_at:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            train(line, schedule, checkpoint, stop)
        starts.append(line.epochs[0])
    last = Line()
    outcome = train(last, schedule, checkpoint)
    # Each goes on from the last epoch that was over before the interruption.
    assert [*starts, last.epochs[0]] == [0, 0, 1, 12, 39, 58]
    assert outcome == expected
    assert torch.equal(last.module.weight, whole.module.weight)
    again = Line()
    assert train(again, schedule, checkpoint) == expected  # finished: nothing is trained again
    assert again.epochs == []
    assert torch.equal(again.module.weight, whole.module.weight)


def test_a_loss_that_is_no_number_is_told():
    with pytest.raises(TrainingError, match="the loss became nan in epoch 3; a smaller lr may help"):
        train(Line(losses=[1, 1, math.nan]), Schedule(epochs=3))


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"epochs": -1}, "epochs is -1, expected at least 0"),
        ({"check_every": 0}, "check_every is 0"),
        ({"patience": 0}, "patience is 0"),
        ({"lr": 0}, "lr is 0"),
        ({"lr": math.inf}, "lr is inf"),
        ({"weight_decay": -1}, "weight_decay is -1"),
    ],
)
def test_schedules_out_of_range_are_refused(setting, said):
    with pytest.raises(SettingError, match=said):
        Schedule(**setting)


class Rows(Line):
    """Steps some rows of a table, several times in an epoch."""

    def __init__(self):
        super().__init__()
        self.module = nn.Module()
        self.module.weight = nn.Parameter(torch.zeros(8, 3))

    def losses(self, epoch):
        generator = torch.Generator().manual_seed(epoch)
        for _ in range(3):
            rows = torch.randperm(8, generator=generator)[:3].sort().values
            yield (table(self.module.weight, SomeRows(rows)) - epoch - 1).square().sum()

    def validate(self):
        return float(self.module.weight.detach().sum())

    def readings(self):
        return {}


def test_rows_that_are_stepped_by_themselves_are_resumed_too(tmp_path):
    schedule = Schedule(epochs=12, check_every=2, lr=0.05)
    whole = Rows()
    expected = train(whole, schedule)
    checkpoint = Checkpoint(tmp_path / "rows.safetensors", {"task": "rows"}, save_every=0)

    def stop(report):
        if report.epoch == 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(Rows(), schedule, checkpoint, stop)
    assert checkpoint.load().moments["weight.step"].sum() == 7 * 3 * 3
    resumed = Rows()
    assert train(resumed, schedule, checkpoint) == expected
    assert torch.equal(resumed.module.weight, whole.module.weight)


def test_in_batches_validations_come_after_as_many_steps_but_not_within_an_epoch():
    schedule = Schedule(epochs=1500, check_every=10, patience=50, weight_decay=0.5, warm_up=100)
    assert schedule.in_batches(1) == schedule
    few = schedule.in_batches(4)
    assert few.warm_up == 25
    assert (few.epochs, few.check_every, few.patience) == (1500, 2, 63)  # 504 steps, as 500 before
    assert (few.lr, few.weight_decay) == (schedule.lr, 0.125)  # the decay of an epoch
    many = schedule.in_batches(40)
    assert (many.check_every, many.patience) == (1, 13)
    assert schedule.in_batches(10**6).patience == 5  # some validations, however long an epoch is
    assert Schedule(patience=2, check_every=1).in_batches(30).patience == 2
