// Everything.
#pragma once

#include "espalier/data.h"
#include "espalier/dtype.h"
#include "espalier/error.h"
#include "espalier/function.h"
#include "espalier/layers.h"
#include "espalier/model.h"
#include "espalier/ops.h"
#include "espalier/optimizers.h"
#include "espalier/random.h"
#include "espalier/shape.h"
#include "espalier/tape.h"
#include "espalier/tensor.h"
#include "espalier/variable.h"
