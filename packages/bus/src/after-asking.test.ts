import { newWorkerId, type SeenState } from '@omnibus/protocol';
import { describe, expect, it } from 'vitest';
import { afterAsking, type AskedBackend } from './after-asking.ts';

const [one, two] = [newWorkerId('backend'), newWorkerId('backend')];
const said = (...states: (SeenState | undefined)[]): AskedBackend[] =>
  states.map((state, index) => ({ worker: index === 0 ? one : two, state }));

describe('after backend workers were asked for a call', () => {
  it.each([
    ['one runs it, whatever others say or have not said yet', said('never', 'running'), false, { at: two }],
    ['one has the answer', said('answered', 'unknown'), false, { at: one }],
    ['none has it, and others have not answered', said('never'), false, undefined],
    ['it was cancelled', said('never', 'cancelled'), true, { at: undefined }],
    ['none has sent it', said('never', 'never'), true, 'never'],
    ['one may have sent it', said('never', 'unknown'), true, { at: undefined }],
    ['one is gone or silent', said('never', undefined), true, { at: undefined }],
    ['there is none', [], true, 'never'],
  ] as const)('%s', (_title, asked, isComplete, found) => {
    expect(afterAsking(asked, isComplete)).toEqual(found);
  });
});
