import { families, type Family } from './families.ts';

/** The rows of `docs/reference/subjects.md`. */
export const subjectTable = Object.entries<Family>(families).map(([name, { tokens, from, to, carries, answers }]) => ({
  subject: [name, ...tokens.map((token) => `<${token}>`)].join('.'),
  from: from.join(', '),
  to,
  carries,
  answers: answers ?? 'nothing',
}));
