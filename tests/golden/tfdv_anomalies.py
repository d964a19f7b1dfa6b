"""What TensorFlow Data Validation says about small statistics and schemas: inferred schemas, anomalies, distances.

usage: tfdv_anomalies.py OUT.json     (pip install tensorflow_data_validation; figures of 1.16.1)

A case of `anomalies` has the name of what it plants, or begins with "clean"; `fixed` is the schema after
update_schema, where the case has neither an environment nor other statistics. `schemas` are inferred ones. `random`
cases are drawn from all kinds of features and constraints. `shared` has checksums of what is said of the data of
../shared (run it in the repository's root), whose values stay there; `distances` are anomalies of one of taxi's two
parts with the other as previous and as serving data, under all kinds of comparators.

usage: tfdv_anomalies.py OUT.json N   draws N other cases, to be compared for once.
"""
import json
import os
import pathlib
import random
import sys
import zlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow_data_validation as tfdv
from google.protobuf import any_pb2, text_format
from tensorflow_data_validation.api.validation_api import validate_statistics_internal
from tensorflow_metadata.proto.v0 import schema_pb2, statistics_pb2

INT, FLOAT, STRING, BYTES, STRUCT = range(5)


def escape(text):
    return text_format.MessageToString(schema_pb2.Feature(name=text))[6:].strip()


def counts(present, missing=0, values=(1, 1), levels=(), total=None, weight=None):
    text = f"num_non_missing: {present} num_missing: {missing} min_num_values: {values[0]} max_num_values: {values[1]} "
    text += f"tot_num_values: {present * values[1] if total is None else total} "
    for absent, low, high in levels:
        text += f"presence_and_valency_stats {{ num_missing: {absent} min_num_values: {low} max_num_values: {high} }} "
    if weight:
        text += f"weighted_common_stats {{ num_non_missing: {present * weight} num_missing: {missing * weight} tot_num_values: {present * weight} }} "
        for absent, _, _ in levels:
            text += f"weighted_presence_and_valency_stats {{ num_missing: {absent * weight} }} "
    return f"common_stats {{ {text}}} "


def histogram(buckets, kind="STANDARD", nan=0):
    text = " ".join(f"buckets {{ low_value: {low} high_value: {high} sample_count: {count} }}" for low, high, count in buckets)
    return f"histograms {{ type: {kind} num_nan: {nan} {text} }} "


def number(name, low, high, kind="INT", common=None, more="", custom=""):
    return (f"features {{ name: {escape(name)} type: {kind} num_stats {{ {common or counts(10)} min: {low} max: {high} {more}}} {custom}}} ")


def ranks(values):
    return "rank_histogram { " + " ".join(
        f"buckets {{ label: {escape(value)} sample_count: {count} }}" for value, count in values.items()) + " } "


def string(name, values, common=None, kind="STRING", invalid=0, unique=None, custom="", more=""):
    total = sum(values.values())
    unique = len(values) if unique is None else unique
    return (f"features {{ name: {escape(name)} type: {kind} string_stats {{ {common or counts(int(total))} unique: {unique} "
            f"invalid_utf8_count: {invalid} {ranks(values)} {more}}} {custom}}} ")


def raw(name, most=0, common=None, custom=""):
    return f"features {{ name: {escape(name)} type: BYTES bytes_stats {{ {common or counts(10)} unique: 3 max_num_bytes_int: {most} }} {custom}}} "


def struct(name, common=None):
    return f"features {{ name: {escape(name)} type: STRUCT struct_stats {{ {common or counts(10)} }} }} "


def only(name, custom):
    return f"features {{ name: {escape(name)} {custom} }} "


def stat(name, value):
    return f"custom_stats {{ name: \"{name}\" {value} }} "


def dataset(features, examples=10, weighted=0, name=""):
    return f"datasets {{ name: \"{name}\" num_examples: {examples} weighted_num_examples: {weighted} {features}}} "


def language(coverage=1, length=5, tokens=()):
    stats = statistics_pb2.NaturalLanguageStatistics(feature_coverage=coverage, avg_token_length=length)
    for token, fraction, low, high in tokens:
        entry = stats.token_statistics.add(fraction_of_sequences=fraction, per_sequence_min_frequency=low, per_sequence_max_frequency=high)
        if isinstance(token, int):
            entry.int_token = token
        else:
            entry.string_token = token
    packed = any_pb2.Any()
    packed.Pack(stats)
    holder = statistics_pb2.CustomStatistic(name="nl_statistics", any=packed)
    return f"custom_stats {{ {text_format.MessageToString(holder, as_one_line=True)} }} "


REQUIRED = "presence { min_fraction: 1 min_count: 1 } "


def feature(name, kind, more="", presence=REQUIRED):
    return f"feature {{ name: {escape(name)} type: {kind} {presence}{more} }} "


def drift(threshold, norm="infinity_norm"):
    return f"drift_comparator {{ {norm} {{ threshold: {threshold} }} }} "


def skew(threshold, norm="infinity_norm"):
    return f"skew_comparator {{ {norm} {{ threshold: {threshold} }} }} "


JSD, NAD = "jensen_shannon_divergence", "normalized_abs_difference"
HISTOGRAM = [(0, 1, 4), (1, 2, 3), (2, 5, 3)]
SHIFTED = [(0.5, 1, 2), (1, 3, 6), (3, 9, 2)]


def planted():
    """name, statistics, schema, and more arguments."""
    yield "clean_int", dataset(number("x", 1, 5)), feature("x", "INT", "int_domain { min: 1 max: 5 }")
    yield "clean_string", dataset(string("x", {"a": 5, "b": 5})), feature("x", "BYTES", "domain: \"d\"") + "string_domain { name: \"d\" value: \"a\" value: \"b\" }"
    yield "clean_optional", dataset(number("x", 1, 5, common=counts(4, 6))), feature("x", "INT", presence="presence { min_fraction: 0.4 min_count: 4 } ")
    yield "clean_no_data", dataset("", 0), feature("x", "INT")
    yield "BOOL_TYPE_BIG_INT", dataset(number("x", 0, 2)), feature("x", "INT", "bool_domain {}")
    yield "BOOL_TYPE_SMALL_INT", dataset(number("x", -1, 2)), feature("x", "INT", "bool_domain {}")
    yield "BOOL_TYPE_UNEXPECTED_STRING", dataset(string("x", {"yes": 9, "maybe": 1})), feature("x", "BYTES", "bool_domain { true_value: \"yes\" false_value: \"no\" }")
    yield "BOOL_TYPE_UNEXPECTED_STRING no value", dataset(string("x", {"yes": 9})), feature("x", "BYTES", "bool_domain {}")
    yield "BOOL_TYPE_UNEXPECTED_FLOAT", dataset(number("x", 0.5, 1, "FLOAT")), feature("x", "FLOAT", "bool_domain {}")
    yield "BOOL_TYPE_UNEXPECTED_FLOAT most", dataset(number("x", 0, 1.25, "FLOAT")), feature("x", "FLOAT", "bool_domain {}")
    yield "BOOL_TYPE_UNEXPECTED_FLOAT nan", dataset(number("x", 0, 1, "FLOAT", more=histogram([(0, 1, 9)], nan=1))), feature("x", "FLOAT", "bool_domain {}")
    yield "BOOL_TYPE_UNEXPECTED_FLOAT below", dataset(number("x", 0, 1, "FLOAT", more=histogram([(-2, -1, 9)]))), feature("x", "FLOAT", "bool_domain {}")
    yield "BOOL_TYPE_UNEXPECTED_FLOAT above", dataset(number("x", 0, 1, "FLOAT", more=histogram([(2, 3, 9)]))), feature("x", "FLOAT", "bool_domain {}")
    yield "BOOL_TYPE_UNEXPECTED_FLOAT between", dataset(number("x", 0, 1, "FLOAT", more=histogram([(0, 0.2, 1), (0.2, 0.5, 1), (0.5, 1, 1)], "QUANTILES"))), feature("x", "FLOAT", "bool_domain {}")
    yield "clean_bool_float", dataset(number("x", 0, 1, "FLOAT", more=histogram([(0, 0.2, 1), (0.2, 0.5, 1), (0.5, 1, 1)]))), feature("x", "FLOAT", "bool_domain {}")
    yield "clean_bool_config", dataset(number("x", 0, 1)), feature("x", "INT", "bool_domain { true_value: \"1\" false_value: \"0\" }")
    yield "clean_bool_config float", dataset(number("x", 0, 1, "FLOAT")), feature("x", "FLOAT", "bool_domain { true_value: \"1\" }")
    yield "clean_bool_config equal", dataset(string("x", {"1": 5})), feature("x", "BYTES", "bool_domain { true_value: \"1\" false_value: \"1\" }")
    yield "ENUM_TYPE_INVALID_UTF8", dataset(string("x", {"a": 9}, invalid=1)), feature("x", "BYTES", "string_domain { value: \"a\" }")
    yield "ENUM_TYPE_INVALID_UTF8 shared", dataset(string("x", {"a": 9}, invalid=1) + string("y", {"a": 9})), feature("x", "BYTES", "domain: \"d\"") + feature("y", "BYTES", "domain: \"d\"") + "string_domain { name: \"d\" value: \"a\" }"
    yield "ENUM_TYPE_UNEXPECTED_STRING_VALUES", dataset(string("x", {"a": 97, "b": 2, "c": 1, "quote\"d\n": 0.5})), feature("x", "BYTES", "string_domain { value: \"a\" }")
    yield "ENUM_TYPE_UNEXPECTED_STRING_VALUES shared", dataset(string("x", {"a": 60, "b": 30}) + string("y", {"a": 9, "\u00e9": 1})), feature("x", "BYTES", "domain: \"d\"") + feature("y", "BYTES", "domain: \"d\"") + "string_domain { name: \"d\" value: \"a\" }"
    yield "ENUM_TYPE_UNEXPECTED_STRING_VALUES mass", dataset(string("x", {"a": 80, "b": 20})), feature("x", "BYTES", "string_domain { value: \"a\" } distribution_constraints { min_domain_mass: 0.85 }")
    yield "clean_mass", dataset(string("x", {"a": 80, "b": 20})), feature("x", "BYTES", "string_domain { value: \"a\" } distribution_constraints { min_domain_mass: 0.75 }")
    yield "FEATURE_TYPE_HIGH_NUMBER_VALUES", dataset(number("x", 0, 1, common=counts(10, 0, (1, 3)))), feature("x", "INT", "value_count { min: 1 max: 1 }")
    yield "FEATURE_TYPE_HIGH_NUMBER_VALUES nested", dataset(number("x", 0, 1, common=counts(10, 0, (1, 3), [(0, 1, 3), (0, 2, 2)]))), feature("x", "INT", "value_counts { value_count { min: 1 max: 2 } value_count { min: 2 max: 2 } }")
    yield "FEATURE_TYPE_LOW_FRACTION_PRESENT", dataset(number("x", 0, 1, common=counts(7, 3))), feature("x", "INT", presence="presence { min_fraction: 0.75 } ")
    yield "FEATURE_TYPE_LOW_FRACTION_PRESENT everywhere", dataset(number("x", 0, 1, common=counts(9, 1))), feature("x", "INT")
    yield "FEATURE_TYPE_LOW_FRACTION_PRESENT hidden", dataset(number("x", 0, 1, common=counts(10, 1))), feature("x", "INT")
    yield "FEATURE_TYPE_LOW_NUMBER_PRESENT", dataset(number("x", 0, 1, common=counts(7, 3))), feature("x", "INT", presence="presence { min_count: 8 } ")
    yield "FEATURE_TYPE_LOW_NUMBER_VALUES", dataset(number("x", 0, 1, common=counts(10, 0, (1, 3)))), feature("x", "INT", "value_count { min: 2 }")
    yield "FEATURE_TYPE_LOW_NUMBER_VALUES none", dataset(number("x", 0, 1, common=counts(10, 0, (0, 3)))), feature("x", "INT", "value_count { min: 2 }")
    yield "FEATURE_TYPE_LOW_NUMBER_VALUES nested", dataset(number("x", 0, 1, common=counts(10, 0, (1, 3), [(0, 1, 3), (0, 0, 2)]))), feature("x", "INT", "value_counts { value_count { min: 2 } value_count { min: 1 } }")
    yield "FEATURE_TYPE_NOT_PRESENT", dataset(number("x", 0, 0, common=counts(0, 10, (0, 0)))), feature("x", "INT")
    yield "clean_not_present", dataset(number("x", 0, 0, common=counts(0, 10, (0, 0)))), feature("x", "INT", presence="")
    yield "FEATURE_TYPE_HIGH_UNIQUE", dataset(string("x", {"a": 5, "b": 5}, unique=12)), feature("x", "BYTES", "unique_constraints { min: 1 max: 10 }")
    yield "FEATURE_TYPE_LOW_UNIQUE", dataset(string("x", {"a": 5, "b": 5})), feature("x", "BYTES", "unique_constraints { min: 3 max: 10 }")
    yield "FEATURE_TYPE_NO_UNIQUE", dataset(number("x", 0, 1)), feature("x", "INT", "unique_constraints { min: 3 max: 10 }")
    yield "FLOAT_TYPE_BIG_FLOAT", dataset(number("x", 0.5, 17.123456789, "FLOAT")), feature("x", "FLOAT", "float_domain { min: 0 max: 10 }")
    yield "FLOAT_TYPE_SMALL_FLOAT", dataset(number("x", -1e-7, 17, "FLOAT")), feature("x", "FLOAT", "float_domain { min: 0 }")
    yield "FLOAT_TYPE_STRING_NOT_FLOAT", dataset(string("x", {"0.5": 5, "half": 5})), feature("x", "BYTES", "float_domain { min: 0 }")
    yield "FLOAT_TYPE_BIG_FLOAT text", dataset(string("x", {"0.5": 5, "1e9": 5, "-3": 1})), feature("x", "BYTES", "float_domain { min: 0 max: 5e8 }")
    yield "FLOAT_TYPE_HAS_NAN", dataset(number("x", 0, 1, "FLOAT", more=histogram(HISTOGRAM, nan=2))), feature("x", "FLOAT", "float_domain { disallow_nan: true }")
    yield "FLOAT_TYPE_HAS_NAN text", dataset(string("x", {"0.5": 5, "nan": 5})), feature("x", "BYTES", "float_domain { disallow_nan: true }")
    yield "FLOAT_TYPE_HAS_INF", dataset(number("x", "-inf", 1, "FLOAT")), feature("x", "FLOAT", "float_domain { disallow_inf: true }")
    yield "INT_TYPE_BIG_INT", dataset(number("x", 0, 17)), feature("x", "INT", "int_domain { min: 0 max: 10 }")
    yield "INT_TYPE_SMALL_INT", dataset(number("x", -17, 17)), feature("x", "INT", "int_domain { min: 0 }")
    yield "INT_TYPE_NOT_INT_STRING", dataset(string("x", {"5": 5, "five": 5})), feature("x", "BYTES", "int_domain { min: 0 }")
    yield "INT_TYPE_BIG_INT text", dataset(string("x", {"5": 5, "-12": 5, "123456789012": 1})), feature("x", "BYTES", "int_domain { min: 0 max: 9 }")
    yield "INT_TYPE_SMALL_INT categories", dataset(string("x", {"5": 5, "-12": 5}, kind="INT")), feature("x", "INT", "int_domain { min: 0 is_categorical: true }")
    yield "DOMAIN_INVALID_FOR_TYPE huge", dataset(number("x", 0, 1e19)), feature("x", "INT", "int_domain { max: 9 }")
    yield "LOW_SUPPORTED_IMAGE_FRACTION", dataset(string("x", {"a": 9}, custom=stat("image_format_histogram", ranks({"UNKNOWN": 3, "jpeg": 4, "png": 3})))), feature("x", "BYTES", "image_domain { minimum_supported_image_fraction: 0.85 }")
    yield "clean_image", dataset(string("x", {"a": 9})), feature("x", "BYTES", "image_domain { minimum_supported_image_fraction: 0.85 }")
    yield "MAX_IMAGE_BYTE_SIZE_EXCEEDED", dataset(raw("x", 101)), feature("x", "BYTES", "image_domain { max_image_byte_size: 100 }")
    yield "SCHEMA_MISSING_COLUMN", dataset(number("x", 0, 1)), feature("x", "INT") + feature("y", "INT") + feature("z", "INT", presence="")
    yield "SCHEMA_MISSING_COLUMN nested", dataset(struct("s") + number("s.x", 0, 1)), feature("s", "STRUCT", "struct_domain { " + feature("x", "INT") + feature("y", "INT") + "}")
    yield "SCHEMA_NEW_COLUMN", dataset(number("x", 0, 1) + number("y", 0, 5) + string("z", {"a": 5, "b": 5})), feature("x", "INT")
    yield "SCHEMA_NEW_COLUMN nested", dataset(struct("s") + number("s.x", 0, 1) + struct("s.t") + string("s.t.y", {"a": 10})), ""
    yield "SCHEMA_NEW_COLUMN domain taken", dataset(number("x", 0, 1) + string("y", {"a": 5, "b": 5})), feature("x", "INT") + "string_domain { name: \"y\" value: \"c\" } string_domain { name: \"y2\" value: \"c\" }"
    yield "SCHEMA_NEW_COLUMN environment", dataset(number("x", 0, 1)), feature("x", "INT", "not_in_environment: \"serving\"") + "default_environment: \"serving\" default_environment: \"training\"", {"environment": "serving"}
    yield "SCHEMA_NEW_COLUMN other environment", dataset(number("x", 0, 1)), feature("x", "INT", "in_environment: \"training\" not_in_environment: \"serving\"") + "default_environment: \"serving\" default_environment: \"training\"", {"environment": "serving"}
    yield "clean_environment", dataset(number("x", 0, 1)), feature("x", "INT") + feature("y", "INT", "not_in_environment: \"serving\"") + "default_environment: \"serving\"", {"environment": "serving"}
    yield "clean_deprecated", dataset(number("x", 0, 1)), feature("x", "BYTES", "lifecycle_stage: PLANNED") + feature("y", "INT", "lifecycle_stage: DISABLED") + feature("z", "INT", "deprecated: true")
    yield "COMPARATOR_CONTROL_DATA_MISSING", dataset(string("x", {"a": 5, "b": 5})), feature("x", "BYTES", drift(0.1)), {"previous": dataset("", 10)}
    yield "COMPARATOR_CONTROL_DATA_MISSING serving", dataset(string("x", {"a": 5, "b": 5})), feature("x", "BYTES", skew(0.1) + drift(0.1)), {"serving": dataset("", 10)}
    yield "COMPARATOR_L_INFTY_HIGH", dataset(string("x", {"a": 5, "b": 5})), feature("x", "BYTES", drift(0.1)), {"previous": dataset(string("x", {"a": 3, "c": 7}))}
    yield "COMPARATOR_L_INFTY_HIGH serving", dataset(string("x", {"a": 1, "b": 2})), feature("x", "BYTES", drift(0.9) + skew(0.01)), {"previous": dataset(string("x", {"a": 3, "c": 7})), "serving": dataset(string("x", {"a": 2, "b": 5, "c": 1}))}
    yield "clean_comparator", dataset(string("x", {"a": 5, "b": 5})), feature("x", "BYTES", drift(0.75)), {"previous": dataset(string("x", {"a": 3, "c": 7}))}
    yield "clean_number_norm", dataset(number("x", 0, 5, more=histogram(HISTOGRAM))), feature("x", "INT", drift(0.1)), {"previous": dataset(number("x", 0, 9, more=histogram(SHIFTED)))}
    yield "COMPARATOR_JENSEN_SHANNON_DIVERGENCE_HIGH", dataset(number("x", 0, 5, more=histogram(HISTOGRAM))), feature("x", "INT", drift(0.01, JSD)), {"previous": dataset(number("x", 0, 9, more=histogram(SHIFTED)))}
    yield "COMPARATOR_JENSEN_SHANNON_DIVERGENCE_HIGH nan", dataset(number("x", 0, 5, "FLOAT", more=histogram(HISTOGRAM, nan=3))), feature("x", "FLOAT", skew(0.01, JSD)), {"serving": dataset(number("x", 0, 9, "FLOAT", more=histogram(SHIFTED, nan=1)))}
    yield "COMPARATOR_JENSEN_SHANNON_DIVERGENCE_HIGH points", dataset(number("x", 0, 5, "FLOAT", more=histogram([("-inf", 0, 2), (0, 0, 3), (0, 2, 4), (2, 2, 5)]))), feature("x", "FLOAT", skew(0.01, JSD)), {"serving": dataset(number("x", 0, 9, "FLOAT", more=histogram([(0, 0, 2), (0, 1, 4), (1, 1, 5), (1, 3, 2), (3, "inf", 1)])))}
    yield "COMPARATOR_JENSEN_SHANNON_DIVERGENCE_HIGH same edges", dataset(number("x", 0, 5, more=histogram(HISTOGRAM))), feature("x", "INT", drift(0.01, JSD)), {"previous": dataset(number("x", 0, 9, more=histogram([(0, 1, 1), (1, 2, 1), (2, 5, 9)])))}
    yield "COMPARATOR_JENSEN_SHANNON_DIVERGENCE_HIGH quantiles", dataset(number("x", 0, 5, more=histogram(HISTOGRAM) + histogram([(0, 1, 5), (1, 5, 5)], "QUANTILES"))), feature("x", "INT", f"drift_comparator {{ {JSD} {{ threshold: 0.01 source {{ type: QUANTILES }} }} }}"), {"previous": dataset(number("x", 0, 9, more=histogram(SHIFTED) + histogram([(0, 3, 5), (3, 9, 5)], "QUANTILES")))}
    yield "COMPARATOR_JENSEN_SHANNON_DIVERGENCE_HIGH strings", dataset(string("x", {"a": 5, "b": 5})), feature("x", "BYTES", drift(0.1, JSD)), {"previous": dataset(string("x", {"a": 3, "c": 7}))}
    yield "COMPARATOR_JENSEN_SHANNON_DIVERGENCE_HIGH both", dataset(string("x", {"a": 5, "b": 5})), feature("x", "BYTES", f"drift_comparator {{ infinity_norm {{ threshold: 0.1 }} {JSD} {{ threshold: 0.1 }} {NAD} {{ threshold: 0.1 }} }}"), {"previous": dataset(string("x", {"a": 3, "c": 7}))}
    yield "clean_no_histogram", dataset(number("x", 0, 5)), feature("x", "INT", drift(0.01, JSD)), {"previous": dataset(number("x", 0, 9, more=histogram(SHIFTED)))}
    yield "clean_mixed_kinds", dataset(string("x", {"a": 5})), feature("x", "BYTES", drift(0.01, JSD)), {"previous": dataset(number("x", 0, 9, more=histogram(SHIFTED)))}
    yield "COMPARATOR_NORMALIZED_ABSOLUTE_DIFFERENCE_HIGH", dataset(string("x", {"a": 5, "b": 5})), feature("x", "BYTES", drift(0.1, NAD)), {"previous": dataset(string("x", {"a": 3, "c": 7}))}
    yield "COMPARATOR_LOW_NUM_EXAMPLES", dataset(number("x", 0, 1)), feature("x", "INT") + "dataset_constraints { num_examples_drift_comparator { min_fraction_threshold: 0.9 max_fraction_threshold: 1.1 } }", {"previous": dataset(number("x", 0, 1), 30)}
    yield "COMPARATOR_LOW_NUM_EXAMPLES version", dataset(number("x", 0, 1)), feature("x", "INT") + "dataset_constraints { num_examples_version_comparator { min_fraction_threshold: 0.9 } }", {"version": dataset(number("x", 0, 1), 30)}
    yield "COMPARATOR_HIGH_NUM_EXAMPLES", dataset(number("x", 0, 1)), feature("x", "INT") + "dataset_constraints { num_examples_drift_comparator { min_fraction_threshold: 0.9 max_fraction_threshold: 1.1 } }", {"previous": dataset(number("x", 0, 1), 3)}
    yield "COMPARATOR_HIGH_NUM_EXAMPLES none before", dataset(number("x", 0, 1)), feature("x", "INT") + "dataset_constraints { num_examples_drift_comparator { min_fraction_threshold: 0.9 max_fraction_threshold: 1.1 } }", {"previous": dataset("", 0, name="before")}
    yield "DATASET_LOW_NUM_EXAMPLES", dataset(number("x", 0, 1)), feature("x", "INT") + "dataset_constraints { min_examples_count: 11 }"
    yield "DATASET_HIGH_NUM_EXAMPLES", dataset(number("x", 0, 1)), feature("x", "INT") + "dataset_constraints { min_examples_count: 1 max_examples_count: 9 }"
    yield "clean_most_rows_alone", dataset(number("x", 0, 1)), feature("x", "INT") + "dataset_constraints { max_examples_count: 9 }"
    yield "SPARSE_FEATURE_MISSING_VALUE", dataset(only("s", stat("missing_value", "num: 3"))), "sparse_feature { name: \"s\" index_feature { name: \"i\" } value_feature { name: \"v\" } }"
    yield "SPARSE_FEATURE_MISSING_INDEX", dataset(only("s", stat("missing_index", ranks({"i": 2, "j": 0})))), "sparse_feature { name: \"s\" index_feature { name: \"i\" } index_feature { name: \"j\" } value_feature { name: \"v\" } }"
    yield "SPARSE_FEATURE_LENGTH_MISMATCH", dataset(only("s", stat("missing_value", "num: 0") + stat("max_length_diff", ranks({"i": 2})) + stat("min_length_diff", ranks({"i": -1})))), "sparse_feature { name: \"s\" index_feature { name: \"i\" } value_feature { name: \"v\" } }"
    yield "SPARSE_FEATURE_NAME_COLLISION", dataset(number("s", 0, 1)), "sparse_feature { name: \"s\" index_feature { name: \"i\" } value_feature { name: \"v\" } }" + feature("s", "INT")
    yield "clean_sparse", dataset(only("s", stat("missing_value", "num: 0") + stat("max_length_diff", ranks({"i": 0})))), "sparse_feature { name: \"s\" index_feature { name: \"i\" } value_feature { name: \"v\" } }"
    weighted = "weighted_feature { name: \"w\" feature { step: \"v\" } weight_feature { step: \"u\" } }"
    yield "WEIGHTED_FEATURE_NAME_COLLISION", dataset(number("w", 0, 1)), weighted + feature("w", "INT")
    yield "WEIGHTED_FEATURE_MISSING_VALUE", dataset(only("w", stat("missing_value", "num: 3"))), weighted
    yield "WEIGHTED_FEATURE_MISSING_WEIGHT", dataset(only("w", stat("missing_weight", "num: 2.5"))), weighted
    yield "WEIGHTED_FEATURE_LENGTH_MISMATCH", dataset(only("w", stat("min_weight_length_diff", "num: -1") + stat("max_weight_length_diff", "num: 4"))), weighted
    yield "SEMANTIC_DOMAIN_UPDATE", dataset(string("x", {"a": 9}, custom=stat("domain_info", "str: \"mid_domain {}\""))), feature("x", "BYTES")
    yield "clean_semantic", dataset(string("x", {"a": 9}, custom=stat("domain_info", "str: \"name: 'x'\""))), feature("x", "BYTES")
    yield "VALUE_NESTEDNESS_MISMATCH", dataset(number("x", 0, 1, common=counts(10, 0, (1, 3), [(0, 1, 3), (0, 2, 2)]))), feature("x", "INT", "value_count { min: 1 }")
    yield "VALUE_NESTEDNESS_MISMATCH flat", dataset(number("x", 0, 1)), feature("x", "INT", "value_counts { value_count { min: 1 } value_count { min: 1 } }")
    for kind, domain in (("INT", "string_domain {}"), ("FLOAT", "int_domain {}"), ("INT", "float_domain {}"), ("STRUCT", "bool_domain {}"), ("FLOAT", "url_domain {}"), ("BYTES", "struct_domain {}"), ("FLOAT", "time_domain {}"), ("INT", "image_domain {}"), ("INT", "mid_domain {}"), ("INT", "natural_language_domain {}"), ("FLOAT", "time_of_day_domain {}")):
        data = {"INT": number("x", 0, 1), "FLOAT": number("x", 0, 1, "FLOAT"), "STRUCT": struct("x"), "BYTES": string("x", {"a": 9})}[kind]
        yield f"DOMAIN_INVALID_FOR_TYPE {kind} {domain[:-3]}", dataset(data), feature("x", kind, domain)
    yield "DOMAIN_INVALID_FOR_TYPE bytes", dataset(raw("x")), feature("x", "BYTES", "string_domain { value: \"a\" }")
    yield "FEATURE_MISSING_NAME", dataset(number("", 0, 1)), "feature { type: INT }"
    yield "FEATURE_MISSING_TYPE", dataset(number("x", 0, 1)), "feature { name: \"x\" }"
    yield "FEATURE_MISSING_TYPE domain", dataset(string("x", {"a": 9})), "feature { name: \"x\" string_domain { value: \"a\" } }"
    for presence in ("presence { min_fraction: -0.5 } ", "presence { min_fraction: 1.5 } "):
        yield f"INVALID_SCHEMA_SPECIFICATION {presence[11:-3]}", dataset(number("x", 0, 1)), feature("x", "INT", presence=presence)
    for more in ("value_count { min: -1 }", "value_count { min: 2 max: 1 }", "value_counts { value_count { min: -1 } value_count { min: 1 max: 0 } }", "shape { dim { size: 0 } }", "distribution_constraints { min_domain_mass: 0.5 }"):
        yield f"INVALID_SCHEMA_SPECIFICATION {more}", dataset(number("x", 0, 1)), feature("x", "INT", more)
    for domain in ("bool_domain {}", "int_domain {}", "float_domain {}", "url_domain {}", "time_domain {}"):
        yield f"INVALID_SCHEMA_SPECIFICATION mass {domain[:-3]}", dataset(string("x", {"1": 9})), feature("x", "BYTES", domain + " distribution_constraints { min_domain_mass: 0.5 }")
    yield "INVALID_SCHEMA_SPECIFICATION mass struct", dataset(struct("x")), feature("x", "STRUCT", "struct_domain {} distribution_constraints {}")
    yield "INVALID_DOMAIN_SPECIFICATION", dataset(string("x", {"a": 9})), feature("x", "BYTES", "domain: \"d\"")
    yield "INVALID_DOMAIN_SPECIFICATION repeated", dataset(string("x", {"a": 8, "b": 1})), feature("x", "BYTES", "string_domain { value: \"a\" value: \"a\" }")
    yield "INVALID_DOMAIN_SPECIFICATION time of day", dataset(string("x", {"a": 9})), feature("x", "BYTES", "time_of_day_domain {}")
    yield "UNEXPECTED_DATA_TYPE", dataset(number("x", 0, 1, "FLOAT")), feature("x", "INT", "int_domain { max: 0 }")
    yield "UNEXPECTED_DATA_TYPE text", dataset(string("x", {"a": 9})), feature("x", "INT", "int_domain { max: 0 }")
    yield "UNEXPECTED_DATA_TYPE bool", dataset(string("x", {"a": 9})), feature("x", "INT", "bool_domain {}")
    yield "UNEXPECTED_DATA_TYPE enum", dataset(number("x", 0, 1)), feature("x", "BYTES", "string_domain { value: \"a\" }")
    yield "SEQUENCE_VALUE_TOO_FEW_OCCURRENCES", dataset(string("x", {"a": 9}, custom=language(tokens=[("a", 0.5, 1, 4)]))), feature("x", "BYTES", "natural_language_domain { token_constraints { string_value: \"a\" min_per_sequence: 2 } }")
    yield "SEQUENCE_VALUE_TOO_MANY_OCCURRENCES", dataset(string("x", {"a": 9}, custom=language(tokens=[("a", 0.5, 1, 4), (7, 0.25, 2, 9.5)]))), feature("x", "BYTES", "natural_language_domain { token_constraints { int_value: 7 max_per_sequence: 3 } token_constraints { max_per_sequence: 3 } }")
    yield "SEQUENCE_VALUE_TOO_SMALL_FRACTION", dataset(string("x", {"a": 9}, custom=language(tokens=[("a", 0.5, 1, 4)]))), feature("x", "BYTES", "natural_language_domain { token_constraints { string_value: \"a\" min_fraction_of_sequences: 0.6 } }")
    yield "SEQUENCE_VALUE_TOO_LARGE_FRACTION", dataset(string("x", {"a": 9}, custom=language(tokens=[("a", 0.123456789, 1, 4)]))), feature("x", "BYTES", "natural_language_domain { token_constraints { string_value: \"a\" max_fraction_of_sequences: 0.1 } }")
    yield "FEATURE_COVERAGE_TOO_LOW", dataset(string("x", {"a": 9}, custom=language(0.5))), feature("x", "BYTES", "natural_language_domain { coverage { min_coverage: 0.6 } }")
    yield "FEATURE_COVERAGE_TOO_SHORT_AVG_TOKEN_LENGTH", dataset(string("x", {"a": 9}, custom=language(1, 2.25))), feature("x", "BYTES", "natural_language_domain { coverage { min_avg_token_length: 3 } }")
    yield "STATS_NOT_AVAILABLE", dataset(string("x", {"a": 9})), feature("x", "BYTES", "natural_language_domain { coverage { min_coverage: 0.6 } }")
    yield "STATS_NOT_AVAILABLE token", dataset(string("x", {"a": 9}, custom=language())), feature("x", "BYTES", "natural_language_domain { token_constraints { string_value: \"a\" min_per_sequence: 2 } }")
    for more in ("shape { dim { size: 2 } }", "shape { dim { size: 2 } dim { size: 2 } }", "shape {}"):
        for name, common in (("fixed", counts(10, 0, (4, 4))), ("varying", counts(10, 0, (1, 4))), ("missing", counts(9, 1, (4, 4))), ("nested", counts(10, 0, (2, 2), [(0, 2, 2), (0, 2, 2)])), ("nested missing", counts(10, 0, (2, 2), [(0, 2, 2), (1, 2, 2)]))):
            yield f"INVALID_FEATURE_SHAPE {name} {more}", dataset(number("x", 0, 1, common=common)), feature("x", "INT", more, presence="")
    source = "validation_derived_source { deriver_name: \"d\" source_path { step: \"y\" } } "
    yield "DERIVED_FEATURE_INVALID_SOURCE", dataset(number("x", 0, 1, custom=source)), feature("x", "INT")
    yield "DERIVED_FEATURE_BAD_LIFECYCLE", dataset(number("x", 0, 1, custom=source)), feature("x", "INT", "lifecycle_stage: PRODUCTION " + source)
    yield "SCHEMA_NEW_COLUMN derived", dataset(number("x", 0, 1, custom=source)), ""
    yield "MULTIPLE_REASONS", dataset(number("x", -3, 17, common=counts(7, 3, (1, 2)))), feature("x", "INT", "value_count { min: 1 max: 1 } int_domain { min: 0 max: 10 }")
    yield "weighted", dataset(number("x", -3, 17, common=counts(7, 3, weight=0.5)) + string("y", {"a": 9}, common=counts(9, 1, weight=0.5), more="weighted_string_stats { " + ranks({"a": 2, "b": 1.5}) + "}"), weighted=5), feature("x", "INT", presence="presence { min_count: 4 min_fraction: 0.75 } ") + feature("y", "BYTES", "string_domain { value: \"a\" }") + "dataset_constraints { min_examples_count: 6 }"
    yield "paths", "datasets { num_examples: 10 features { path { step: \"a.b\" step: \"c d\" } type: INT num_stats { " + counts(10) + "} } features { path { step: \"a.b\" } type: STRUCT struct_stats { " + counts(10) + "} } features { path { step: \"(x)\" } type: INT num_stats { " + counts(10) + " max: 4 } } features { path { step: \"it's\" } type: INT num_stats { " + counts(10) + " max: 4 } } }", feature("a.b", "STRUCT", "struct_domain { " + feature("c d", "BYTES") + "}")
    yield "slices", dataset(number("x", 0, 1), name="All Examples") + dataset(number("x", 0, 7), 5, name="y_1"), feature("x", "INT", "int_domain { max: 0 }")


def inferred():
    for size in (2, 100):
        for shape in (True, False):
            yield dataset(
                number("bit", 0, 1) + number("zero", 0, 0) + number("one", 1, 1) + number("int", -4, 17) + number("real", 0.5, 2, "FLOAT") +
                string("word", {"b": 5, "a": 3, "c": 2}) + string("bool", {"TRUE": 4, "false": 6}) + string("true", {"true": 4, "TRUE": 6}) + string("blank", {"": 9}) +
                string("ints", {"1": 4, " 22 ": 3, "-7": 3}) + string("one int", {"0": 4}) + string("reals", {"1.5": 4, "2": 3}) + string("broken", {"a": 9}, invalid=1) + string("hidden", {"__BYTES_VALUE__": 9}) + string("none", {}, common=counts(10)) + raw("raw") +
                number("some", 0, 5, common=counts(4, 6)) + number("never", 0, 0, common=counts(0, 10, (0, 0))) + number("pair", 0, 5, common=counts(10, 0, (2, 2))) + number("list", 0, 5, common=counts(10, 0, (2, 5))) + number("maybe empty", 0, 5, common=counts(10, 0, (0, 5))) +
                number("grid", 0, 5, common=counts(10, 0, (2, 2), [(0, 2, 2), (0, 3, 3)])) + number("ragged", 0, 5, common=counts(10, 0, (2, 2), [(0, 2, 2), (1, 3, 4)])) + number("holes", 0, 5, common=counts(10, 0, (2, 2), [(0, 2, 2), (1, 0, 4)])) +
                struct("trip") + number("trip.day", 0, 5) + string("trip.kind", {"b": 5, "a": 3}) +
                string("mid", {"a": 9}, custom=stat("domain_info", "str: \"mid_domain {}\"")) + only("sparse", stat("missing_value", "num: 3")) + string("dots.and'quotes", {"b": 5}) + number("tiny", 0, 5, common=counts(10))), {"max_string_domain_size": size, "infer_feature_shape": shape}
    yield dataset(number("x", -3, 17, common=counts(7, 3, weight=0.1)) + string("y", {"a": 9}, common=counts(9, 1, weight=0.05), more="weighted_string_stats { " + ranks({"a": 2, "b": 1.5}) + "}"), weighted=1), {}
    yield dataset(number("x", -3, 17, common=counts(7, 3, weight=0.1)) + string("y", {"a": 9}), weighted=1), {}


def draw_values(draw):
    pool = draw.choice([["a", "b", "c", "d\u00e9", "e.f"], ["1", "0"], ["1", "22", "-3", "x"], ["0.5", "1e3", "nan", "-inf", "y"], ["true", "false", "maybe"]])
    return {value: draw.choice([1, 2, 5, 40, 0.5]) for value in draw.sample(pool, draw.randint(1, len(pool)))}


def draw_common(draw):
    low = draw.choice([0, 1, 1, 1, 2])
    high = low + draw.choice([0, 0, 0, 1, 3])
    levels = [] if draw.random() < 0.8 else [(draw.choice([0, 0, 1]), low, high), (draw.choice([0, 0, 2]), draw.choice([0, 1, 2]), 2)]
    present = draw.choice([10, 10, 10, 9, 5, 0])
    return counts(present, 10 - present, (low, high), levels)


def draw_edges(draw):
    edges = sorted(draw.sample([-4, -1, -0.5, 0, 0.25, 0.5, 1, 1.5, 2, 3, 7, 11], draw.randint(2, 6)))
    buckets = [(low, high, draw.choice([0, 1, 2, 5.5])) for low, high in zip(edges, edges[1:])] + [(edges[-1], edges[-1] + 1, 3)]
    if draw.random() < 0.2:
        buckets.append((edges[-1] + 1, "inf", 1))
    return histogram(buckets, nan=draw.choice([0, 0, 0, 2]))


def draw_feature(draw, name, kind):
    common = draw_common(draw)
    if kind in ("INT", "FLOAT"):
        low = draw.choice([0, 0, 1, -2, -0.5 if kind == "FLOAT" else -5])
        return number(name, low, low + draw.choice([0, 1, 3, 30]), kind, common, draw_edges(draw))
    if kind == "BYTES":
        return raw(name, draw.choice([5, 500]), common)
    if kind == "STRUCT":
        return struct(name, common)
    return string(name, draw_values(draw), common, invalid=draw.choice([0] * 9 + [2]))


def draw_constraints(draw, name, kind):
    schema_type = "BYTES" if kind == "STRING" else kind
    if draw.random() < 0.05:
        schema_type = draw.choice(["INT", "FLOAT", "BYTES"])
    domains = {
        "INT": ["", "bool_domain {}", "int_domain { min: 0 max: 5 }", "int_domain { min: 0 }", "int_domain {}"],
        "FLOAT": ["", "bool_domain {}", "float_domain { min: 0 max: 5 }", "float_domain { disallow_nan: true disallow_inf: true }"],
        "BYTES": ["", "domain: \"shared\"", "string_domain { value: \"a\" value: \"b\" }", "bool_domain { true_value: \"true\" false_value: \"false\" }", "int_domain { min: 0 max: 9 }", "float_domain { max: 9 disallow_nan: true disallow_inf: true }", "image_domain { max_image_byte_size: 100 }", "url_domain {}", "domain: \"away\"", "natural_language_domain {}"],
        "STRUCT": ["", "struct_domain {}"],
    }
    text = draw.choice(domains[schema_type]) + " "
    text += draw.choice(["", "", "shape {} ", "shape { dim { size: 2 } } ", "value_count { min: 1 } ", "value_count { min: 1 max: 1 } ", "value_counts { value_count { min: 1 } value_count { min: 2 max: 2 } } "])
    text += draw.choice([""] * 5 + ["distribution_constraints { min_domain_mass: 0.6 } "])
    text += draw.choice([""] * 5 + ["unique_constraints { min: 2 max: 3 } "])
    text += draw.choice([""] * 6 + ["lifecycle_stage: BETA ", "lifecycle_stage: ALPHA ", "not_in_environment: \"serving\" ", "in_environment: \"serving\" "])
    text += draw.choice(["", drift(0.2), drift(0.1, JSD), f"drift_comparator {{ infinity_norm {{ threshold: 0.3 }} {JSD} {{ threshold: 0.2 }} }}"])
    text += draw.choice(["", "", skew(0.2), skew(0.05, JSD)])
    presence = draw.choice([REQUIRED, REQUIRED, "", "presence { min_count: 1 } ", "presence { min_fraction: 0.75 min_count: 6 } "])
    return feature(name, schema_type, text, presence)


def drawn(seed):
    draw = random.Random(seed)
    names = ["a", "b", "c d", "e.f"]
    kinds = {name: draw.choice(["INT", "FLOAT", "STRING", "STRING", "BYTES"]) for name in names}
    data, before, serving, schema = "", "", "", "string_domain { name: \"shared\" value: \"a\" value: \"b\" } "
    for name in names:
        if draw.random() < 0.9:
            data += draw_feature(draw, name, kinds[name])
        if draw.random() < 0.9:
            before += draw_feature(draw, name, kinds[name])
        if draw.random() < 0.9:
            serving += draw_feature(draw, name, kinds[name])
        if draw.random() < 0.9:
            schema += draw_constraints(draw, name, kinds[name])
    more = {}
    if draw.random() < 0.4:
        more["previous"] = dataset(before, draw.choice([10, 5, 40]))
    if draw.random() < 0.3:
        more["serving"] = dataset(serving)
    if draw.random() < 0.3:
        more["environment"] = "serving"
        schema += "default_environment: \"serving\" "
    if draw.random() < 0.2:
        schema += "dataset_constraints { num_examples_drift_comparator { min_fraction_threshold: 0.5 max_fraction_threshold: 1.5 } min_examples_count: 20 } "
    return f"seed {seed}", dataset(data), schema, more


def guarded(work):
    """What `work` returns as JSON in a process of its own, or None when that dies: TFDV aborts on what it does not expect."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        with os.fdopen(write, "w") as pipe:
            pipe.write(json.dumps(work()))
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else None


def parse(text, kind=statistics_pb2.DatasetFeatureStatisticsList):
    return text_format.Parse(text, kind())


def judge(name, statistics, schema, more=None):
    more = more or {}
    case = {"name": name, "statistics": statistics, "schema": schema, **more}

    def validate():
        other = {key: parse(more[key]) for key in ("previous", "serving", "version") if key in more}
        anomalies = validate_statistics_internal(parse(statistics), parse(schema, schema_pb2.Schema), more.get("environment"), other.get("previous"),
                                                 other.get("serving"), other.get("version"))
        anomalies.ClearField("baseline")
        return text_format.MessageToString(anomalies)

    def update():
        return text_format.MessageToString(tfdv.update_schema(parse(schema, schema_pb2.Schema), parse(statistics)))

    case["anomalies"] = guarded(validate)
    if not more and name != "clean_no_data":
        case["fixed"] = guarded(update)
    return case


def infer(statistics, options):
    return {"statistics": statistics, **options,
            "schema": guarded(lambda: text_format.MessageToString(tfdv.infer_schema(parse(statistics), **options)))}


def taxi(part):
    bytes_of = pathlib.Path(f"../shared/data/tfmd/taxi-{part}-FeatureStats.pb").read_bytes()
    return statistics_pb2.DatasetFeatureStatisticsList.FromString(bytes_of)


def shared():
    """CRC-32 of texts: schemas of taxi's two parts, anomalies of each against the schema of the other."""
    parts, out = {part: taxi(part) for part in ("train", "eval")}, {}
    for part, other in (("train", "eval"), ("eval", "train")):
        schema = tfdv.infer_schema(parts[part])
        out[f"schema of {part}"] = zlib.crc32(text_format.MessageToString(schema).encode())
        anomalies = tfdv.validate_statistics(parts[other], schema)
        anomalies.ClearField("baseline")
        out[f"anomalies of {other}"] = zlib.crc32(text_format.MessageToString(anomalies).encode())
    return out


def distances(source, part, other):
    """Thresholds differ from column to column, so that each distance is above some and below others."""
    schema = tfdv.infer_schema(taxi(other))
    thresholds = [0, 0.0005, 0.01, 0.1, 0.9]
    for i, column in enumerate(schema.feature):
        for j, comparator in enumerate((column.drift_comparator, column.skew_comparator)):
            comparator.infinity_norm.threshold = thresholds[(i + j) % 5]
            comparator.normalized_abs_difference.threshold = thresholds[(i + j + 1) % 5]
            comparator.jensen_shannon_divergence.threshold = thresholds[(i + j + 2) % 5]
            comparator.jensen_shannon_divergence.source.type = source
    anomalies = tfdv.validate_statistics(taxi(part), schema, previous_statistics=taxi(other), serving_statistics=taxi(other))
    anomalies.ClearField("baseline")
    return {"name": f"{schema_pb2.HistogramSelection.Type.Name(source)} of {part}", "statistics": part, "previous": other, "serving": other,
            "schema": text_format.MessageToString(schema), "anomalies": text_format.MessageToString(anomalies)}


def main():
    if len(sys.argv) > 2:  # many drawn cases, for once
        cases = [judge(*drawn(seed)) for seed in range(1000, 1000 + int(sys.argv[2]))]
        golden = {"random": [case for case in cases if case["anomalies"]]}
    else:
        golden = {"anomalies": [judge(*case) for case in planted()], "schemas": [infer(*case) for case in inferred()],
                  "random": [judge(*drawn(seed)) for seed in range(40)], "shared": shared(),
                  "distances": [distances(source, *parts) for source in (schema_pb2.HistogramSelection.STANDARD, schema_pb2.HistogramSelection.QUANTILES)
                                for parts in (("eval", "train"), ("train", "eval"))]}
    with open(sys.argv[1], "w") as file:
        json.dump(golden, file, indent=1)
        file.write("\n")


main()
