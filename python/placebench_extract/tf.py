"""TensorFlow in graph mode, set up so that a run executes exactly the graph that was built.

oneDNN rewrites operations into fused ones, so it has to be switched off before the import.
"""

import os
import sys

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

try:
    import tensorflow as tf
except ImportError as error:
    message = "TensorFlow is missing for this Python: pip install 'placebench[tensorflow]' with Python 3.11"
    raise ImportError(f"{message} ({error}; {sys.executable})") from None

v1 = tf.compat.v1
v1.logging.set_verbosity(v1.logging.ERROR)
v1.disable_v2_behavior()
v1.disable_resource_variables()

__all__ = ["tf", "v1"]
