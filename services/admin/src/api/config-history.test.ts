import type { Config, LoadedConfig } from '@omnibus/config';
import { loadedFrom } from '@omnibus/config/testing';
import { expect, it } from 'vitest';
import { ConfigHistory } from './config-history.ts';
import { configurationFor, shownValues } from './shown-config.ts';

const read = (text: string): LoadedConfig =>
  loadedFrom(text, { env: { OLD: 'old-secret-value', NEW: 'new-secret-value' } });
const before = read(
  'mcpServers: { wiki: { url: "https://wiki.example/mcp", headers: { Authorization: "Bearer ${OLD}" } }, gone: { url: "https://gone.example/mcp" } }\nlimits: { maxSessions: 10 }\n',
);
const after = read(
  'mcpServers: { wiki: { url: "https://wiki.example/mcp", headers: { Authorization: "Bearer ${NEW}" } } }\nlimits: { maxSessions: 20 }\naccess: { rules: [{ who: everyone, allow: [wiki] }] }\n',
);

function historyOf(): {
  readonly history: ConfigHistory;
  readonly shown: (config: Config) => Parameters<typeof configurationFor>[0];
} {
  const history = new ConfigHistory('omnibus.yaml', before);
  return {
    history,
    shown: (config) => ({
      ...history.state,
      digest: '',
      values: shownValues({ config, ...history.source }),
      missing: [],
    }),
  };
}

it('says what the last change has changed, without secrets', () => {
  const { history, shown } = historyOf();
  expect(history.state).not.toHaveProperty('changed');
  history.applied(before.config, after, []);
  const { changed } = shown(after.config);
  const options = new Map(changed?.difference.options.map((each) => [each.path, each]));
  expect(options.get('limits.maxSessions')).toEqual({ path: 'limits.maxSessions', before: 10, after: 20 });
  expect(options.get('mcpServers.wiki.headers.Authorization')).toEqual({
    path: 'mcpServers.wiki.headers.Authorization',
    before: '${OLD}',
    after: '${NEW}',
    isSecret: true,
  });
  expect(options.get('mcpServers.gone.url')).toEqual({
    path: 'mcpServers.gone.url',
    before: 'https://gone.example/mcp',
  });
  expect(options.get('access.rules')).toMatchObject({ after: [{ who: 'everyone', allow: ['wiki'] }] });
  expect(options.has('mcpServers.wiki.url')).toBe(false);
  expect(JSON.stringify(changed)).not.toMatch(/secret-value/);
  // The same content written again is no change, and the earlier change stays listed.
  history.applied(after.config, after, []);
  expect(history.state.changed).toEqual(changed);
});

it('says what waits for the next start as long as that differs from what the process was started with', () => {
  const { history } = historyOf();
  history.applied(before.config, after, ['limits']);
  expect(history.state.restart).toEqual(['limits']);
  history.applied(after.config, before, []);
  expect(history.state.restart).toEqual([]);
});

it('says what a refused change would have changed, and tells the rules only to those who may see them', () => {
  const { history, shown } = historyOf();
  history.rejected(['access.rules[0]: wrong'], { before: before.config, loaded: after });
  const said = shown(before.config);
  expect(said.rejected?.difference?.options.map(({ path }) => path)).toContain('access.rules');
  expect(JSON.stringify(configurationFor(said, ['operator']))).toContain('everyone');
  expect(JSON.stringify(configurationFor(said, ['viewer']))).not.toContain('everyone');
  history.rejected(['no YAML']);
  expect(history.state.rejected).not.toHaveProperty('difference');
});
