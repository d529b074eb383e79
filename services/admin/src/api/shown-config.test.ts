import { expect, it } from 'vitest';
import { loadedFrom } from '@omnibus/config/testing';
import { shownValues } from './shown-config.ts';

it.each([
  'file:/run/secrets/key',
  `file:/${'folder/'.repeat(40)}key`,
  'vault:secret/team/a#key',
  `vault:secret/${'folder/'.repeat(40)}a#key`,
])('what came by ${%s} is hidden, in options that are not secret too', (reference) => {
  const one = { url: `https://one.example.com/\${${reference}}/mcp`, args: [`--key=\${${reference}}`] };
  const told = { readFile: () => 'hunter2', secret: () => ({ text: 'hunter2' }) };
  const loaded = loadedFrom({ mcpServers: { one } }, told);
  const shown = shownValues({ config: loaded.config, loaded, overrides: {}, discovered: new Set() });
  expect(shown.find(({ path }) => path === 'mcpServers.one.url')).toMatchObject({
    isSecret: true,
    reference: `\${${reference}}`,
  });
  expect(JSON.stringify(shown)).not.toContain('hunter2');
});
