/** Receivers of a server's messages without a request. */
import { expect, it } from 'vitest';
import { anonymous, type Principal, type SessionKey } from '@omnibus/protocol';
import { Users } from './users.ts';

const [one, other] = ['one', 'other'] as unknown as [SessionKey, SessionKey];
const strangers = (): Users => {
  const users = new Users();
  for (const session of [one, other]) users.use({ session, principal: anonymous, listens: true });
  return users;
};

it('with one ordered stream, words belong to the only anonymous session that has a call in flight', () => {
  const users = strangers();
  expect(users.isAlone(other, true)).toBe(true);
  expect(users.audience(other, true)).toEqual({ sessions: [other], isOwn: true });
  expect(users.audience(undefined, true).sessions).toEqual([]);
});

it('without order, words may be older than the answer to their call: no anonymous session hears them once two have used the connection', () => {
  const users = strangers();
  expect(users.isAlone(other, false)).toBe(false);
  expect(users.audience(other, false).sessions).toEqual([]);
  const alone = new Users();
  alone.use({ session: one, principal: anonymous, listens: true });
  expect([alone.isAlone(one, false), alone.audience(undefined, false).sessions]).toEqual([true, [one]]);
});

it('without order, all sessions of the one known user still hear them', () => {
  const users = new Users();
  const principal = 'p_ann' as Principal;
  for (const session of [one, other]) users.use({ session, principal, listens: true });
  expect([users.isAlone(one, false), users.audience(one, false)]).toEqual([
    true,
    { sessions: [one, other], isOwn: false },
  ]);
});

it('words are own words of a session of a known user only while no other client of that user has used the connection', () => {
  const users = new Users();
  const principal = 'p_ann' as Principal;
  users.use({ session: one, principal, listens: true });
  expect(users.audience(undefined, true)).toEqual({ sessions: [one], isOwn: true });
  users.use({ session: other, principal, listens: false });
  expect(users.audience(undefined, true)).toEqual({ sessions: [one], isOwn: false });
});
