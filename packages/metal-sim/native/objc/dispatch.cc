// Message send for x86-64: saves the argument registers, looks up the method, and jumps to it.
#include <cstdio>
#include <cstdlib>

#include "runtime.h"

#if !defined(__x86_64__)
#error "metal-sim sends messages on x86-64 only"
#endif

namespace objc {
namespace {

/** Returns zero of every type, like a message to nil. */
extern "C" void metal_sim_nil_method();

struct Super {
  Object* receiver;
  Class* super_class;
};

[[noreturn]] void report_unknown(const Class* receiver, const Selector* selector) {
  const char kind = receiver->info & kMetaclass ? '+' : '-';
  std::fprintf(stderr, "%c[%s %s]: unrecognized selector\n", kind, receiver->name, selector->name);
  std::abort();
}

Method method_or_abort(const Class* receiver, const Selector* selector) {
  Method method = find_method(receiver, selector->name);
  if (!method) report_unknown(receiver, selector);
  return method;
}

}  // namespace
}  // namespace objc

extern "C" {

objc::Method metal_sim_lookup(objc::Object* receiver, objc::Selector* selector) {
  if (!receiver) return objc::metal_sim_nil_method;
  return objc::method_or_abort(objc::class_of(receiver), selector);
}

objc::Method objc_msg_lookup_super(objc::Super* super, objc::Selector* selector) {
  if (!super->receiver) return objc::metal_sim_nil_method;
  return objc::method_or_abort(super->super_class, selector);
}
}

// clang-format off
#define MARKBASE_MESSAGE_SEND(NAME, RECEIVER, SELECTOR)                                    \
  ".globl " NAME "\n.hidden " NAME "\n.type " NAME ",@function\n" NAME ":\n"              \
  ".cfi_startproc\n"                                                                       \
  "push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"                            \
  "mov %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"                                          \
  "sub $192, %rsp\n"                                                                       \
  "movups %xmm0, 0(%rsp)\nmovups %xmm1, 16(%rsp)\nmovups %xmm2, 32(%rsp)\n"               \
  "movups %xmm3, 48(%rsp)\nmovups %xmm4, 64(%rsp)\nmovups %xmm5, 80(%rsp)\n"              \
  "movups %xmm6, 96(%rsp)\nmovups %xmm7, 112(%rsp)\n"                                     \
  "mov %rdi, 128(%rsp)\nmov %rsi, 136(%rsp)\nmov %rdx, 144(%rsp)\nmov %rcx, 152(%rsp)\n"  \
  "mov %r8, 160(%rsp)\nmov %r9, 168(%rsp)\nmov %rax, 176(%rsp)\n"                         \
  "mov " RECEIVER ", %rdi\nmov " SELECTOR ", %rsi\n"                                      \
  "call metal_sim_lookup\nmov %rax, %r11\n"                                               \
  "movups 0(%rsp), %xmm0\nmovups 16(%rsp), %xmm1\nmovups 32(%rsp), %xmm2\n"               \
  "movups 48(%rsp), %xmm3\nmovups 64(%rsp), %xmm4\nmovups 80(%rsp), %xmm5\n"              \
  "movups 96(%rsp), %xmm6\nmovups 112(%rsp), %xmm7\n"                                     \
  "mov 128(%rsp), %rdi\nmov 136(%rsp), %rsi\nmov 144(%rsp), %rdx\nmov 152(%rsp), %rcx\n"  \
  "mov 160(%rsp), %r8\nmov 168(%rsp), %r9\nmov 176(%rsp), %rax\n"                         \
  "leave\n.cfi_def_cfa %rsp, 8\njmp *%r11\n.cfi_endproc\n"

asm(".text\n"
    MARKBASE_MESSAGE_SEND("objc_msgSend", "128(%rsp)", "136(%rsp)")
    MARKBASE_MESSAGE_SEND("objc_msgSend_fpret", "128(%rsp)", "136(%rsp)")
    MARKBASE_MESSAGE_SEND("objc_msgSend_stret", "136(%rsp)", "144(%rsp)")
    ".globl metal_sim_nil_method\n.hidden metal_sim_nil_method\nmetal_sim_nil_method:\n"
    "xor %eax, %eax\nxor %edx, %edx\npxor %xmm0, %xmm0\npxor %xmm1, %xmm1\nret\n"
    // C++ unwinding also handles Objective-C++ frames, because no Objective-C exception is ever thrown here.
    ".globl __gnustep_objcxx_personality_v0\n.hidden __gnustep_objcxx_personality_v0\n"
    "__gnustep_objcxx_personality_v0:\njmp __gxx_personality_v0@PLT\n");
// clang-format on
