#define ESPALIER_PART 16
#include "format/text_survey_body.h"

namespace espalier {

TextSurvey survey_text_portable(const char* text, size_t size) { return survey(text, size); }

}  // namespace espalier
