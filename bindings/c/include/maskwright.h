/**
 * Maskwright: token masks that make a language model write only text that a constraint accepts.
 *
 * Objects are handles: whoever gets one from a function that returns a pointer frees it with the function
 * of its name. A handle may be freed while others that were made from it are in use.
 *
 * Threads: vocabularies, compilers and constraints never change, and any number of threads may use the
 * same one at the same time. A matcher is used by one thread at a time, which may be another for each call.
 *
 * Errors: functions that can fail take a last argument `error`, which may be NULL. Where they fail they
 * return NULL, false or what their description says, and put an error there, which the caller frees;
 * where they do not fail they leave it alone. No function ends the process or lets an exception pass.
 *
 * Text is UTF-8. Mask rows are `mw_vocabulary_mask_words` words of 32 bits: bit `t % 32` of word `t / 32`
 * is set where token `t` is allowed. Bits beyond the vocabulary are 0.
 */


#ifndef MASKWRIGHT_H
#define MASKWRIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * The input or the stage that an error is about.
 */
typedef enum mw_error_kind {
  /**
   * A kind that this version of the header does not know.
   */
  MW_ERROR_KIND_OTHER = 0,
  /**
   * A tokenizer or vocabulary file cannot be used for exact masks.
   */
  MW_ERROR_KIND_VOCABULARY = 1,
  /**
   * A regular expression does not parse, or has no regular meaning.
   */
  MW_ERROR_KIND_REGEX = 2,
  /**
   * A grammar does not parse, or refers to what it does not define.
   */
  MW_ERROR_KIND_GRAMMAR = 3,
  /**
   * A JSON Schema is malformed, or uses a keyword that cannot be enforced.
   */
  MW_ERROR_KIND_SCHEMA = 4,
  /**
   * A constraint that no text satisfies.
   */
  MW_ERROR_KIND_UNSATISFIABLE = 5,
  /**
   * A limit was reached.
   */
  MW_ERROR_KIND_LIMIT = 6,
  /**
   * A token or byte that the constraint does not allow here.
   */
  MW_ERROR_KIND_REJECTED = 7,
  /**
   * An argument that is out of range or not supported.
   */
  MW_ERROR_KIND_ARGUMENT = 8,
  /**
   * A file that cannot be read.
   */
  MW_ERROR_KIND_IO = 9,
} mw_error_kind;

/**
 * The notation of a constraint.
 */
typedef enum mw_constraint_kind {
  /**
   * A JSON Schema, as JSON text.
   */
  MW_CONSTRAINT_KIND_JSON_SCHEMA = 0,
  /**
   * A regular expression; it describes the whole text.
   */
  MW_CONSTRAINT_KIND_REGEX = 1,
  /**
   * A JSON array of texts, of which one is written.
   */
  MW_CONSTRAINT_KIND_CHOICE = 2,
  /**
   * A structural tag, as JSON text.
   */
  MW_CONSTRAINT_KIND_STRUCTURAL_TAG = 3,
  /**
   * A grammar in the notation of Lark.
   */
  MW_CONSTRAINT_KIND_LARK = 4,
  /**
   * A grammar in the notation of llama.cpp.
   */
  MW_CONSTRAINT_KIND_GBNF = 5,
  /**
   * A grammar in the notation of RFC 5234.
   */
  MW_CONSTRAINT_KIND_ABNF = 6,
  /**
   * A grammar in the notation of the W3C.
   */
  MW_CONSTRAINT_KIND_W3C_EBNF = 7,
  /**
   * A grammar in the notation of ISO/IEC 14977.
   */
  MW_CONSTRAINT_KIND_ISO_EBNF = 8,
} mw_constraint_kind;

/**
 * Makes constraints for one vocabulary. They share what they learn about it.
 */
typedef struct mw_compiler mw_compiler;

/**
 * A language over the tokens of a vocabulary.
 */
typedef struct mw_constraint mw_constraint;

/**
 * An error: its kind, and a message with the place and the cure.
 */
typedef struct mw_error mw_error;

/**
 * One sequence under a constraint.
 */
typedef struct mw_matcher mw_matcher;

/**
 * The tokens of a model.
 */
typedef struct mw_vocabulary mw_vocabulary;

/**
 * One token of a vocabulary that is given token by token.
 */
typedef struct mw_token {
  /**
   * The bytes of its text, or the name of a special token. NULL where an id has no token.
   */
  const uint8_t *bytes;
  /**
   * The number of bytes.
   */
  size_t len;
  /**
   * Whether it is special: it stands for itself, not for its bytes.
   */
  bool special;
} mw_token;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of the library, such as `0.1.0`. Static: not to be freed.
 */
const char *mw_version(void);

/**
 * Frees a text that a function of this library returned. NULL is ignored.
 */
void mw_string_free(char *text);

/**
 * Makes a compiler. `settings` is a JSON object of settings by name, or NULL for the defaults:
 *
 *     {"whitespace": "compact", "strict": true, "limits": {"time_per_constraint": 2.5}}
 *
 * The names are `whitespace` (tidy, plain, compact, indent-2, indent-4, indent-tab, flexible, any, or a
 * pattern), `max_whitespace`, `spelling` (canonical, escapes, any), `property_order` (schema, any), `style`,
 * `strict`, `one_of` (exactly, at-least), `excludes`, `escapes`, `digits`, `formats`, `draft` (4, 6, 7, 2019-09,
 * 2020-12), `resources` (documents by URI) and `limits` (by name, times in seconds).
 *
 * Returns NULL with an error on other names and values.
 */
struct mw_compiler *mw_compiler_new(const struct mw_vocabulary *vocabulary,
                                    const char *settings,
                                    struct mw_error **error);

/**
 * Compiles a constraint from `len` bytes of UTF-8 text. `kind` is a `mw_constraint_kind`.
 *
 * Returns NULL with an error if the text has no such meaning, if no text satisfies it, or if a limit is
 * reached. May be called by several threads with one compiler.
 */
struct mw_constraint *mw_compile(const struct mw_compiler *compiler,
                                 uint32_t kind,
                                 const char *text,
                                 size_t len,
                                 struct mw_error **error);

/**
 * Frees a compiler. NULL is ignored.
 */
void mw_compiler_free(struct mw_compiler *compiler);

/**
 * Frees a constraint. NULL is ignored.
 */
void mw_constraint_free(struct mw_constraint *constraint);

/**
 * The kind of an error; `MW_ERROR_KIND_OTHER` for NULL.
 */
enum mw_error_kind mw_error_get_kind(const struct mw_error *error);

/**
 * The message of an error on one line: place, what is wrong, what would be accepted. It lives as long as
 * the error. Empty for NULL.
 */
const char *mw_error_message(const struct mw_error *error);

/**
 * Frees an error. NULL is ignored.
 */
void mw_error_free(struct mw_error *error);

/**
 * A matcher at the start of a text. Cheap: one per sequence. NULL for NULL.
 */
struct mw_matcher *mw_matcher_new(const struct mw_constraint *constraint);

/**
 * A matcher that goes on from the same text by itself. NULL for NULL.
 */
struct mw_matcher *mw_matcher_fork(const struct mw_matcher *matcher);

/**
 * Takes one token; an end token finishes the text.
 *
 * Returns false with an error if it is not allowed here; the matcher stays as it was.
 */
bool mw_matcher_accept(struct mw_matcher *matcher, uint32_t token, struct mw_error **error);

/**
 * Takes `len` bytes of text, whatever tokens they may be made of: one step.
 *
 * Returns false with an error that names the byte which is not allowed; the matcher stays as it was.
 */
bool mw_matcher_accept_text(struct mw_matcher *matcher,
                            const char *text,
                            size_t len,
                            struct mw_error **error);

/**
 * Returns how many of `count` tokens, from the first on, could be taken one after the other. The matcher
 * stays as it was.
 */
size_t mw_matcher_validate(struct mw_matcher *matcher,
                           const uint32_t *tokens,
                           size_t count,
                           struct mw_error **error);

/**
 * Takes back the last `steps` steps.
 *
 * Returns false with an error if there were fewer; the matcher stays as it was.
 */
bool mw_matcher_rollback(struct mw_matcher *matcher, size_t steps, struct mw_error **error);

/**
 * The number of steps taken. 0 for NULL.
 */
size_t mw_matcher_steps(const struct mw_matcher *matcher);

/**
 * Whether the text so far is complete. False for NULL.
 */
bool mw_matcher_is_accepting(const struct mw_matcher *matcher);

/**
 * Whether an end token was accepted. False for NULL.
 */
bool mw_matcher_is_finished(const struct mw_matcher *matcher);

/**
 * Writes the mask of the next token into a row of `words` words: end tokens are in it where the text is
 * complete, and after an end token it is empty.
 *
 * Returns false with an error if the row has another length, or when a limit is reached.
 */
bool mw_matcher_fill_mask(struct mw_matcher *matcher,
                          uint32_t *row,
                          size_t words,
                          struct mw_error **error);

/**
 * The same with those tokens alone after which the text can be completed within `tokens` tokens, the next
 * one counted and the end token not.
 *
 * Returns false with an error if more are needed from here, and says how many.
 */
bool mw_matcher_fill_mask_within(struct mw_matcher *matcher,
                                 uint32_t tokens,
                                 uint32_t *row,
                                 size_t words,
                                 struct mw_error **error);

/**
 * Sets the logits of the tokens that are not allowed to minus infinity. `count` is the size of the
 * vocabulary.
 *
 * Returns false with an error if there are more or fewer logits, or when a limit is reached.
 */
bool mw_matcher_mask_logits(struct mw_matcher *matcher,
                            float *logits,
                            size_t count,
                            struct mw_error **error);

/**
 * Writes the masks along a tree of `count` draft tokens: the first row is the mask here, row `i + 1` that
 * after token `i`. `parents[i]` is the index of the token before token `i`, below `i`, or -1 where the draft
 * begins; NULL: each token follows the one before it. `rows` has `words` words: `count + 1` rows. The matcher
 * stays as it was; rows to which the constraint does not allow the way are 0.
 *
 * Returns false with an error if `words` is another number, or a parent is below -1 or does not come before
 * its child.
 */
bool mw_matcher_fill_tree(struct mw_matcher *matcher,
                          const uint32_t *tokens,
                          const int32_t *parents,
                          size_t count,
                          uint32_t *rows,
                          size_t words,
                          struct mw_error **error);

/**
 * Writes the masks of `count` matchers, each into its row of `words` words; the machine's cores share what
 * is not known yet. No matcher may be given twice, and rows may not overlap.
 *
 * Returns false with the first error; other rows may be written then.
 */
bool mw_fill_masks(struct mw_matcher *const *matchers,
                   uint32_t *const *rows,
                   size_t count,
                   size_t words,
                   struct mw_error **error);

/**
 * Puts an upper bound on the tokens that complete the text, the end token not counted, into `tokens`.
 *
 * Returns false with an error when a limit is reached.
 */
bool mw_matcher_tokens_to_finish(struct mw_matcher *matcher,
                                 uint32_t *tokens,
                                 struct mw_error **error);

/**
 * The bytes that every continuation begins with, at most `limit` of them, written to `bytes`, which has room
 * for as many. Returns their number.
 */
size_t mw_matcher_forced_bytes(struct mw_matcher *matcher,
                               uint8_t *bytes,
                               size_t limit,
                               struct mw_error **error);

/**
 * Says why a token is allowed here or not, on one line. The caller frees the text with `mw_string_free`.
 *
 * Returns NULL with an error when a limit is reached.
 */
char *mw_matcher_explain(struct mw_matcher *matcher,
                         uint32_t token,
                         struct mw_error **error);

/**
 * Says what may come next, on one line. The caller frees the text with `mw_string_free`.
 *
 * Returns NULL with an error when a limit is reached.
 */
char *mw_matcher_expected(struct mw_matcher *matcher, struct mw_error **error);

/**
 * Frees a matcher. NULL is ignored.
 */
void mw_matcher_free(struct mw_matcher *matcher);

/**
 * Reads a vocabulary file: `tokenizer.json` of Hugging Face, a tiktoken file, or GGUF.
 *
 * Returns NULL with an error if the file cannot be read, or if exact masks cannot be made from it.
 */
struct mw_vocabulary *mw_vocabulary_from_file(const char *path, struct mw_error **error);

/**
 * Makes a vocabulary from the text of a `tokenizer.json`, `len` bytes of UTF-8: for hosts without files.
 *
 * Returns NULL with an error if the tokenizer cannot be used for exact masks.
 */
struct mw_vocabulary *mw_vocabulary_from_json(const char *text,
                                              size_t len,
                                              struct mw_error **error);

/**
 * Makes a vocabulary of `count` tokens; token `i` has id `i`. `end_tokens` are the ids that end a text.
 *
 * Returns NULL with an error if a special token's name is not UTF-8, or an end token has no place.
 */
struct mw_vocabulary *mw_vocabulary_from_tokens(const struct mw_token *tokens,
                                                size_t count,
                                                const uint32_t *end_tokens,
                                                size_t end_count,
                                                struct mw_error **error);

/**
 * The same vocabulary for a model whose logits are wider than the tokenizer's ids (0: as it is), and with
 * other end tokens (`end_tokens` NULL: as they are).
 *
 * Special tokens beyond the logits are left out. Returns NULL with an error if a text token or an end
 * token is beyond them.
 */
struct mw_vocabulary *mw_vocabulary_adapted(const struct mw_vocabulary *vocabulary,
                                            size_t logits_width,
                                            const uint32_t *end_tokens,
                                            size_t end_count,
                                            struct mw_error **error);

/**
 * The number of tokens, which is the width of the logits. 0 for NULL.
 */
size_t mw_vocabulary_size(const struct mw_vocabulary *vocabulary);

/**
 * The number of 32-bit words of a mask row. 0 for NULL.
 */
size_t mw_vocabulary_mask_words(const struct mw_vocabulary *vocabulary);

/**
 * Writes the ids of the end tokens, at most `capacity` of them, and returns how many there are.
 */
size_t mw_vocabulary_end_tokens(const struct mw_vocabulary *vocabulary,
                                uint32_t *ids,
                                size_t capacity);

/**
 * Frees a vocabulary. NULL is ignored.
 */
void mw_vocabulary_free(struct mw_vocabulary *vocabulary);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MASKWRIGHT_H */
