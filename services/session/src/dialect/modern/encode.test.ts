import { describe, expect, it } from 'vitest';
import { modernError } from './encode.ts';

describe('an error of a server for a client of 2026-07-28', () => {
  it.each([-32_000, -32_001, -32_019, -32_050, -32_603, 7])('keeps code %i, message and data', (code) => {
    const error = { code, message: `MCP error ${code}: not today`, data: ['any', { shape: true }] };
    expect(modernError(error)).toEqual(error);
  });

  it("has this revision's code where a resource is not there", () => {
    expect(modernError({ code: -32_002, message: 'no such resource', data: { uri: 'x://1' } })).toEqual({
      code: -32_602,
      message: 'no such resource',
      data: { uri: 'x://1' },
    });
  });
});
