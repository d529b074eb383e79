/** The order of messages whose labels are recorded first. */
import { expect, it } from 'vitest';
import { parseServerName, type ConversationLabel } from '@omnibus/protocol';
import { labelling } from './labelling.ts';

const label: ConversationLabel = {
  label: 'untrusted',
  server: parseServerName('web'),
  item: 'read',
  rule: 'from-web',
  at: 1,
};

it('a message that cannot be passed on keeps back none of those after it', async () => {
  const uncaught: unknown[] = [];
  const hear = (error: unknown): void => void uncaught.push(error);
  const others = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection');
  process.on('unhandledRejection', hear);
  try {
    const said: string[] = [];
    const calls = labelling({ labels: [label], guarded: () => [], put: () => Promise.resolve(true) });
    calls.progress({ kind: 'progress', progress: 1, message: 'one' }, () => {
      throw new Error('it cannot be written');
    });
    calls.progress({ kind: 'progress', progress: 2, message: 'two' }, () => said.push('two'));
    calls.after(() => said.push('after'));
    calls.outcome({ kind: 'result', result: {} }, () => said.push('outcome'));
    await expect.poll(() => said).toEqual(['two', 'after', 'outcome']);
    expect(uncaught).toMatchObject([{ message: 'it cannot be written' }]);
  } finally {
    process.off('unhandledRejection', hear);
    for (const each of others) process.on('unhandledRejection', each);
  }
});
