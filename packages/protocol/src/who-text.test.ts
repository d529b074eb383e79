import { expect, it } from 'vitest';
import { whoProblem } from './who-text.ts';

it.each([
  ['*', 'write "everyone"'],
  ['anybody', 'write "everyone"'],
  [
    'bob@example.com',
    'write "key:bob@example.com" for the holder of an API key, or "user:ISSUER|bob@example.com" for a person who signs in',
  ],
])('%s in the place of callers is answered with the right form', (text, form) => {
  expect(whoProblem(text)).toContain(form);
});
