"""A Spark session with Delta. Its zone is one by which a mistaken conversion shows."""

import os
import tempfile

from delta import configure_spark_with_delta_pip
from pyspark.sql import SparkSession

CONFIG = {
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.session.timeZone": "Asia/Kathmandu",
    "spark.sql.warehouse.dir": tempfile.gettempdir(),
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


def open_session():
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master("local[2]")
    for name, value in CONFIG.items():
        builder = builder.config(name, value)
    return configure_spark_with_delta_pip(builder).getOrCreate()
