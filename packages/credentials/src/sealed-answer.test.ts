/** Answers of issuers on their way through the bus. */
import { expect, it } from 'vitest';
import { newState, openAnswer, sealAnswer } from './sealed-answer.ts';

it('an answer can be read by whoever has begun the sign-in that its state names, and by nobody else', async () => {
  const [one, other] = [newState(), newState()];
  const answer = new URLSearchParams({ code: 'a/b+c=', state: one.state, iss: 'https://issuer.example' });
  const sealed = (await sealAnswer(answer)) ?? '';
  expect(Buffer.from(sealed.split('.')[3] ?? '', 'base64url').toString('latin1')).not.toContain('a%2Fb');
  expect((await openAnswer(one.answerKey, sealed))?.get('code')).toBe('a/b+c=');
  expect(await openAnswer(other.answerKey, sealed)).toBeUndefined();
  expect(await openAnswer(one.answerKey, `${sealed.slice(0, -2)}AA`)).toBeUndefined();
});

it.each(['', 'short', 'A'.repeat(43), `${'A'.repeat(42)}.`])(
  'nothing is encrypted for the state "%s", which names no key',
  async (state) => {
    expect(await sealAnswer(new URLSearchParams({ state, code: 'x' }))).toBeUndefined();
  },
);
