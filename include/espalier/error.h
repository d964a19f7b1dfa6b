// Errors and call sites.
//
// Every mistake raises an Error whose text has the form
//
//     ShapeError[concatenate.c2] at train.cc:41, encoder/concat_1
//       inputs must match except in axis 1: input 0 is f32[32,128,64], input 2 is f32[32,128,80]
//       fix: concatenate on axis 2
//
// What fails inside of the user's own code that the library calls, as a layer's call() under fit(), names the
// line there and then that of the outermost call: `at net.cc:12, called at train.cc:41, model/block`. A
// refused call changes nothing: graphs, variables and models stay usable.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

// A place in the user's program. Public functions take it as a defaulted argument, so it names their caller.
struct Location {
  const char* file = "";
  uint32_t line = 0;
  static Location here(const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) {
    return {file, line};
  }
  bool known() const { return line != 0; }
  friend bool operator==(const Location& a, const Location& b) {
    return a.line == b.line && std::string_view(a.file) == b.file;
  }
};
// "train.cc:41": the file without its folders. "" when unknown.
std::string to_string(const Location& location);

class Error : public std::exception {
 public:
  // `kind` is stable ("ShapeError"), `rule` is a label of docs ("concatenate.c2") or empty, `message` states
  // the rule and every value compared, `fix` is one action, only when sure. The call site is the current
  // CallScope's.
  Error(std::string_view kind, std::string_view rule, std::string_view message, std::string_view fix = {});
  const char* what() const noexcept override { return text_.c_str(); }
  const std::string& kind() const { return kind_; }
  const std::string& rule() const { return rule_; }
  const std::string& message() const { return message_; }
  const std::string& fix() const { return fix_; }
  // At the end of the message: for who knows more of it and lets it pass.
  void add(std::string_view more);

 private:
  std::string kind_, rule_, message_, fix_, text_;
};

#define ESPALIER_ERROR(Name)                                                         \
  class Name : public Error {                                                        \
   public:                                                                           \
    Name(std::string_view rule, std::string_view message, std::string_view fix = {}) \
        : Error(#Name, rule, message, fix) {}                                        \
  }
// Shapes that do not fit.
ESPALIER_ERROR(ShapeError);
// Element types that do not fit.
ESPALIER_ERROR(DTypeError);
// An argument outside its range, an unknown name, a wrong option.
ESPALIER_ERROR(ValueError);
// A call that is not allowed now: a tensor of a finished trace, item() under trace, a changed capture.
ESPALIER_ERROR(StateError);
// Text or bytes that do not follow their format; the message holds line and column or offset.
ESPALIER_ERROR(FormatError);
// The operating system refused.
ESPALIER_ERROR(IoError);
// A step of a run failed, as one that talks to other ranks. Nothing has changed: no variable, no array.
ESPALIER_ERROR(RunError);
// A device, its plugin or its memory: what it refused, or that it is not there.
ESPALIER_ERROR(DeviceError);
// Well-formed, meaningful, and not supported here.
ESPALIER_ERROR(UnsupportedError);
#undef ESPALIER_ERROR

// A bug of ours. The text asks for a report.
class InternalError : public Error {
 public:
  explicit InternalError(std::string_view message, Location at = Location::here());
};

// Makes `at` the call site of errors and graph nodes while it lives. The outermost scope of a thread wins, so
// what a user reads is the line of the user's own call; errors name the innermost line of user code as well.
class CallScope {
 public:
  explicit CallScope(Location at);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;
  static Location current();
  // Makes `at` the call site, or none if it is unknown, so that the next scope is an outermost one; gives the
  // one before. For who runs the user's code again to look inside.
  static Location exchange(Location at);
  // The innermost call in a file that is none of the library's. Unknown when there is none.
  static Location innermost();

 private:
  Location at_;
  const CallScope* outer_;
  bool outermost_;
};

// Adds `name` to the graph path ("encoder/dense_1") of errors and graph nodes while it lives.
class NameScope {
 public:
  explicit NameScope(std::string_view name);
  ~NameScope();
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;
  static const std::string& current();

 private:
  size_t length_;
};

// Up to three of `known` that are close to `word`, nearest first.
std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& known);
// Raises ValueError[rule]: `unknown <what> "<word>": known are ...`, with the nearest names as the fix.
[[noreturn]] void throw_unknown(std::string_view rule, std::string_view what, std::string_view word,
                                const std::vector<std::string>& known);

}  // namespace espalier
