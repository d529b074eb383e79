/** The models of dashboards that Grafana imports, and the names by which autoscalers scale. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { dashboards, grafanaModel } from '@omnibus/deploy';
import { root } from '../support/processes.ts';

interface Model {
  readonly annotations: { readonly list: readonly { readonly expr: string }[] };
  readonly panels: readonly {
    readonly title: string;
    readonly fieldConfig: {
      readonly defaults: {
        readonly links?: readonly { readonly url: string }[];
        readonly thresholds?: { readonly steps: readonly { readonly value: number | null; readonly color: string }[] };
      };
    };
  }[];
}

const models = dashboards.map((dashboard) => grafanaModel(dashboard) as Model);
const panelOf = (title: string) => models.flatMap(({ panels }) => panels).find((panel) => panel.title === title);

it('alerts that fire are marks in every dashboard, and what an alert looks at is red where it fires', () => {
  for (const { annotations } of models) expect(annotations.list[0]?.expr).toContain('alertstate="firing"');
  expect(panelOf('Servers down')?.fieldConfig.defaults.thresholds?.steps).toEqual([
    { value: null, color: 'green' },
    { value: 1, color: 'red' },
  ]);
  expect(panelOf('Bus round trip, p95')?.fieldConfig.defaults.thresholds?.steps.at(-1)).toEqual({
    value: 0.05,
    color: 'red',
  });
});

it('a series of one server leads to the dashboard of that server', () => {
  expect(panelOf('Time by server, p95')?.fieldConfig.defaults.links?.[0]?.url).toMatch(
    /^\/d\/omnibus-server\?.*var-server=\$\{__field\.labels\.server\}$/,
  );
  expect(panelOf('Requests by method')?.fieldConfig.defaults.links).toBeUndefined();
});

it('autoscalers of the examples and of the chart scale by metrics that exist', () => {
  const metrics = new Set(
    [...readFileSync(join(root, 'docs/reference/metrics.md'), 'utf8').matchAll(/`(omnibus_\w+)`/g)].map(
      ([, name]) => name,
    ),
  );
  for (const file of [
    'examples/keda.yaml',
    'examples/prometheus-adapter.yaml',
    'helm/omnibus/templates/deployments.yaml',
  ]) {
    const named = readFileSync(join(root, 'deploy', file), 'utf8').match(/omnibus_(client|sessions|upstream)\w*/g);
    expect(new Set(named).size, file).toBe(3);
    for (const name of named ?? []) expect(metrics, file).toContain(name);
  }
});
