import { describe, expect, it } from 'vitest';
import { Era, readDiscovery, readDiscoveryError, readRefusal } from './discovery.ts';

describe("what is known of a server's era", () => {
  it('is asked again after an hour when it was an older one, and never when it was the newest', () => {
    let now = 0;
    const legacy = new Era('auto', () => now);
    const modern = new Era('auto', () => now);
    expect(legacy.current).toBeUndefined();
    legacy.learn('legacy');
    modern.learn('modern');
    now = 60 * 60_000;
    expect([legacy.current, modern.current]).toEqual(['legacy', 'modern']);
    now += 1;
    expect([legacy.current, modern.current]).toEqual([undefined, 'modern']);
    legacy.learn('legacy');
    expect(legacy.current).toBe('legacy');
    modern.forget();
    expect(modern.current).toBeUndefined();
  });

  it('is what the configuration says, whatever was learned', () => {
    const pinned = new Era('modern');
    pinned.learn('legacy');
    expect(pinned.current).toBe('modern');
  });
});

describe('what an answer to server/discover proves (2026-07-28 basic/versioning, Compatibility)', () => {
  const capabilities = { tools: {} };

  it.each([
    [{ supportedVersions: ['2026-07-28'], capabilities }, 'modern'],
    [{ supportedVersions: ['2025-11-25', '2026-07-28'], capabilities }, 'modern'],
    [{ supportedVersions: ['2025-11-25'], capabilities }, 'legacy'],
    [{ supportedVersions: ['2099-01-01'], capabilities }, 'unknown'],
    [{ supportedVersions: '2026-07-28', capabilities }, 'legacy'],
    [{}, 'legacy'],
  ])('%j is of a server that is %s', (result, kind) => {
    expect(readDiscovery(result).kind).toBe(kind);
  });

  it.each([
    [{ code: -32_601, message: 'unknown method' }, 'legacy'],
    [{ code: -32_022, message: 'unsupported', data: { supported: ['2026-07-28'] } }, 'again'],
    [{ code: -32_022, message: 'unsupported', data: { supported: ['2025-11-25'] } }, 'legacy'],
    [{ code: -32_022, message: 'unsupported', data: { supported: ['2099-01-01'] } }, 'unknown'],
    [{ code: -32_022, message: 'unsupported' }, 'legacy'],
  ])('the error %j is of a server that is %s', (error, kind) => {
    expect(readDiscoveryError(error).kind).toBe(kind);
  });

  it.each([
    [400, { kind: 'legacy' }],
    [404, { kind: 'legacy' }],
    [401, { kind: 'unknown', mayBeLegacy: false }],
    [403, { kind: 'unknown', trouble: 'credentials', mayBeLegacy: true }],
    [502, { kind: 'unknown', mayBeLegacy: true }],
  ])('HTTP status %i proves %j', (status, verdict) => {
    expect(readRefusal(status, 'refused')).toMatchObject(verdict);
  });
});
