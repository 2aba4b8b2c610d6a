"""torchmetrics: a metric's `compute` gathers its state over all ranks. Source: torchmetrics 1.8, metric.py.

`forward` gathers only with `dist_sync_on_step`, which is off by default, so it is no event here.
"""

from __future__ import annotations

from meshlint.models.entry import Entry, under

_SRC = "torchmetrics 1.8, src/torchmetrics/metric.py: compute() wraps sync_context(dist_sync_fn=gather_all_tensors)"

_METRICS = (
    "Metric", "MetricCollection", "MeanMetric", "SumMetric", "MaxMetric", "MinMetric", "CatMetric", "Accuracy",
    "MeanSquaredError", "MeanAbsoluteError", "F1Score", "AUROC", "Perplexity", "ConfusionMatrix",
)  # fmt: skip

ENTRIES = (
    *under(
        (*_METRICS, *(f"{name}()" for name in _METRICS)),
        (
            Entry(("compute", "sync"), "op", _SRC, dims=("world",), op="all_gather", effect="returns", composite=True),
            Entry(("update", "reset"), "pure", _SRC),
        ),
    ),
    Entry(("torchmetrics.utilities.distributed.gather_all_tensors", "gather_all_tensors"), "op",
          "torchmetrics 1.8, src/torchmetrics/utilities/distributed.py", dims=("world",), op="all_gather",
          group=(1, "group"), payload=(0, "result"), effect="returns", composite=True),
)  # fmt: skip
