import { expect, it } from 'vitest';
import { insteadOfKey, parseServerName, signInName, type CallCommand } from '@omnibus/protocol';
import { signInWith } from './sign-in.ts';

it("only a call of the tool that stands for a sign-in can have been made in another one's place, whatever a client sends with its own", () => {
  const signIn = signInWith({
    server: parseServerName('notes'),
    signIns: { ask: () => Promise.reject(new Error('nobody is asked')) },
    isStandIn: () => false,
    asked: () => undefined,
    credentials: undefined,
  });
  const refusalOf = (name: string): unknown =>
    signIn.refusal({
      method: 'tools/call',
      params: { name, _meta: { [insteadOfKey]: 'work' } },
      context: { principal: 'p_1' },
    } as unknown as CallCommand);
  expect(refusalOf('work')).toBeUndefined();
  expect(refusalOf(signInName)).toMatchObject({ kind: 'result', result: { isError: true } });
});
