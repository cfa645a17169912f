"""Prints the versions of Spark and Delta as JSON."""

import json
from importlib.metadata import version

print(json.dumps(f"Spark {version('pyspark')}, delta-spark {version('delta-spark')}"))
