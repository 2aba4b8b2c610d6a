"""slime: Megatron-LM's command line, with slime's own flags beside it.

It parses with Megatron-LM's parser and runs its `validate_args` (slime/backends/megatron_utils/arguments.py:60). Keys
are flags without dashes, hyphens as underscores.
"""

from __future__ import annotations

from meshlint.config.framework import Framework, Spelling
from meshlint.config.frameworks import megatron_lm
from meshlint.config.frameworks.megatron_core import CORE, TE, TORCH

_OWN = (
    Spelling("model_id", ("hf_checkpoint",), source="slime/utils/arguments.py"),
    Spelling("qkv_format", ("qkv_format",), source="slime/utils/arguments.py"),
    Spelling("dynamic_batch_size", ("use_dynamic_batch_size",), source="slime/utils/arguments.py"),
    Spelling("max_tokens_per_gpu", ("max_tokens_per_gpu",), source="slime/utils/arguments.py"),
    Spelling("pad_total_multiple", ("data_pad_size_multiplier",), source="slime/utils/arguments.py"),
)

FRAMEWORK = Framework(
    name="slime",
    title="slime",
    libraries=(CORE, TE, TORCH),
    spellings=(*megatron_lm.FRAMEWORK.spellings, *_OWN),
)
