// Holds what the Rust transcript wrote against the `ai` package itself. Reads a file written by
// `cargo test -p tackroom-core --test dump -- --ignored`: a list of cases, each with
//   chunks    what was folded, those that were refused included
//   errors    the package's own errors that are expected, by chunk
//   message   the message after all of them
//   valid     whether the package takes that message
//   settled   the same message, settled
//   rebuilt   chunks that make the same message in an empty one, or null where none can
// and exits with 1 if the package makes something else, or does not take a settled message.
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { readUIMessageStream, safeValidateUIMessages } from 'ai';

const path = process.argv[2];
if (!path) {
  console.error('usage: node check.mjs FILE');
  process.exit(2);
}
const cases = JSON.parse(readFileSync(path, 'utf8'));
console.warn = () => {};

const finished = { type: 'message-metadata', messageMetadata: {} };

/** The last state the package shows, and its error if it stopped with one. */
async function fold(chunks, initial) {
  let error = null;
  let last = initial ?? null;
  const stream = new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(structuredClone(chunk));
      controller.close();
    },
  });
  const states = readUIMessageStream({
    message: initial ? structuredClone(initial) : undefined,
    stream,
    onError: thrown => {
      // A chunk of type `error` is reported the same way and is none of the fold's own.
      if (thrown?.name !== 'Error') error = `${thrown.name}: ${thrown.message}`;
    },
  });
  for await (const state of states) last = state;
  return { last: wellFormed(JSON.parse(JSON.stringify(last))), error };
}

/** Half of a surrogate pair is kept as U+FFFD by the other side. */
function wellFormed(value) {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, wellFormed(inner)]));
}

let bad = 0;
function report(name, what, ...details) {
  bad += 1;
  if (bad <= 10) console.error(`${name}: ${what}`, ...details.map(detail => `\n  ${JSON.stringify(detail)}`));
}

let compared = 0;
for (const { name, chunks, errors, message, valid, settled, rebuilt } of cases) {
  // A refused chunk stops the package's fold: fold the accepted ones, and each refused one after those before it.
  const accepted = chunks.filter((_, at) => errors[at] == null);
  // The last state is shown only after a chunk that shows one.
  const { last, error } = await fold([...accepted, finished]);
  const expected = { ...message, metadata: message.metadata ?? {} };
  if (error) report(name, 'the package stops', error);
  if (JSON.stringify(last) !== JSON.stringify(reorder(last, expected))) report(name, 'the package makes', last, message);
  for (const [at, words] of errors.entries()) {
    if (words == null) continue;
    const before = chunks.slice(0, at).filter((_, place) => errors[place] == null);
    const refused = await fold([...before, chunks[at]]);
    if (refused.error !== words) report(name, `chunk ${at} is refused with`, refused.error, words);
  }
  const unsettled = await safeValidateUIMessages({ messages: [message] });
  if (unsettled.success !== valid) report(name, `the message is ${valid ? 'not ' : ''}valid`, message);
  const check = await safeValidateUIMessages({ messages: [settled] });
  if (!check.success) report(name, 'the settled message is not valid', settled);
  if (rebuilt) {
    const again = await fold([...rebuilt, finished]);
    if (!isDeepStrictEqual(again.last, expected)) report(name, 'the rebuilt message is', again.last, message);
  }
  compared += 1;
}

/** `expected` with the message's own keys in the order of `last`, whose metadata was set by this script. */
function reorder(last, expected) {
  const ordered = {};
  for (const key of Object.keys(last ?? {})) if (key in expected) ordered[key] = expected[key];
  for (const key of Object.keys(expected)) ordered[key] ??= expected[key];
  return ordered;
}

console.log(`${compared} cases compared with ai, ${bad} differences`);
process.exit(bad === 0 && compared > 0 ? 0 : 1);
