import { families, type Family } from './families.ts';

/** The rows of `docs/reference/subjects.md`. */
export const subjectTable = Object.entries<Family>(families).map(
  ([name, { tokens, from, isOfOlderVersion = false, to, carries, answers }]) => ({
    subject: [name, ...tokens.map((token) => `<${token}>`)].join('.'),
    from: `${from.join(', ')}${isOfOlderVersion ? ' of an older version' : ''}`,
    to,
    carries,
    answers,
  }),
);
