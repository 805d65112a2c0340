// Messages, and ending a launch with one.
#pragma once

#include <stdarg.h>

#include "worker.h"

namespace simt {

// Text of bounded length, put together piece by piece; what does not fit is cut off.
class Text {
public:
    Text(char* out, size_t room) : out_(out), room_(room) { out_[0] = 0; }
    Text& add(const char* format, ...) __attribute__((format(printf, 2, 3)));
    Text& add_list(const char* format, va_list arguments);
    Text& add_position(const char* file, int line);   // "kernel.cu:12: "
    Text& add_lanes(uint32_t lanes);                   // "lanes 0-7,16" or "lane 3"
    Text& add_block(const Block& block);               // "; block (0,0,0)"
    Text& add_thread(const Lane& lane);                // "; block (0,0,0), thread (16,0,0) [warp 0, lane 16]"

private:
    char* out_;
    size_t room_;
    size_t used_ = 0;
};

const char* name_of(Operation operation);
const char* name_of(Rendezvous expected);

// Ends the launch with a message; the first one counts. Throws the worker back to its own stack.
[[noreturn]] void stop(Worker* worker, const char* message, Outcome outcome = Outcome::violation);

// The same, with the position and the thread of `lane` around the message.
[[noreturn]] void stop_at(Lane* lane, const char* format, ...) __attribute__((format(printf, 2, 3)));

// `lane` read from `source`, whose value is undefined. Counted, not an error: the usual way to reduce the lanes at the
// end of an array reads such values and throws them away.
void note_undefined_read(Lane* lane, uint32_t source);

}  // namespace simt
