/** Rules for the sentences of documents (CONTRIBUTING.md, "Caught once"): forms that hide the actor or the object, each with the better form. */

/** Forms that no document may have. */
const never = [
  [
    /(?<!")\b(?:whoever|nobody|somebody|everybody|anybody)\b/gi,
    'name the actor: client, server, edge, worker, operator, user',
  ],
  [/\b(?:he|him|his)\b/gi, 'a user is "they" or "the user"'],
  [
    /\b(?:anew|for ever|of its own accord|by itself|by themselves)\b/gi,
    'write "again", "without end", "on its own" or leave it out',
  ],
  [/\b(?:is|are|was|were|be) told\b/gi, 'active voice: "the client gets ...", "the server sends ..."'],
];

/** Forms that are good now and then: at most `perThousand` in 1,000 words, and `least` in a short document. */
const seldom = [
  [/\b(?:who|whom|whose)\b/gi, 2, 2, 'name the actor, or write "users that ...", "a server with ..."'],
  [
    /\bwhat (?:is|was|has|are|were|a|the|it|they|servers|clients|others)\b/gi,
    0.6,
    1,
    'use a noun: "the result", not "what it answers"',
  ],
  [
    /\b(?:is|are|was|were|be) (?:said|asked|taken|given|held|kept|made|shown)\b/gi,
    0.6,
    1,
    'active voice: name the part that does it',
  ],
];

/** The lines of a document without code, addresses and links to files, which have names of their own. */
const proseOf = (text) =>
  text
    .replaceAll(/^ *```[^]*?^ *```$/gm, (code) => code.replaceAll(/[^\n]/g, ''))
    .replaceAll(/`[^`\n]*`|\]\([^)\n]*\)/g, '')
    .split('\n');

/**
 * Problems of one Markdown document, each as `line: "form": the better form`.
 * @param {string} text
 * @returns {string[]}
 */
export function proseProblems(text) {
  const lines = proseOf(text);
  const found = (pattern) =>
    lines.flatMap((line, index) => [...line.matchAll(pattern)].map(([form]) => ({ at: index + 1, form })));
  const words = lines.join(' ').split(/\s+/).length;
  return [
    ...never.flatMap(([pattern, better]) => found(pattern).map(({ at, form }) => `${at}: "${form}": ${better}`)),
    ...seldom.flatMap(([pattern, perThousand, least, better]) => {
      const hits = found(pattern);
      const most = Math.max(least, Math.floor((words * perThousand) / 1000));
      if (hits.length <= most) return [];
      return hits.map(
        ({ at, form }) => `${at}: "${form}" (${hits.length} in this document, at most ${most}): ${better}`,
      );
    }),
  ];
}
