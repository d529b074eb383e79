import { expect, it } from 'vitest';
import { AllProcesses } from './all-processes.ts';
import { keyUsesOf } from './key-uses.ts';
import type { ApiOptions } from './options.ts';

it('keys have no last use while the process waits for its bus, and their list is there', async () => {
  expect(await keyUsesOf(new AllProcesses({} as ApiOptions))).toEqual(new Map());
});
