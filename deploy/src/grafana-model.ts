/** Dashboards in the form that Grafana imports. */
import type { Dashboard, Panel } from './dashboards.ts';

const datasource = { type: 'prometheus', uid: '${datasource}' };

/** A variable with the values of a label; several may be chosen, and by default all are, also where the label is missing. */
function choice(name: string, label: string, of: string): object {
  const definition = `label_values(${of}, ${name})`;
  return {
    name,
    label,
    type: 'query',
    datasource,
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    allValue: '.*',
    current: { text: 'All', value: '$__all' },
    query: { query: definition, refId: name },
    definition,
  };
}

type Step = readonly [from: number | null, color: 'green' | 'orange' | 'red'];

/** Colours of a panel by its value; where an alert looks at the same, red begins where it fires. */
const thresholds: Readonly<Record<string, readonly Step[]>> = {
  'Servers down': [
    [null, 'green'],
    [1, 'red'],
  ],
  'Failed calls': [
    [null, 'green'],
    [0.01, 'orange'],
    [0.05, 'red'],
  ],
  Connected: [
    [null, 'red'],
    [1, 'green'],
  ],
  Waiting: [
    [null, 'green'],
    [1, 'orange'],
  ],
  Restarts: [
    [null, 'green'],
    [1, 'orange'],
    [5, 'red'],
  ],
  'Cut off from the bus': [
    [null, 'green'],
    [1, 'red'],
  ],
  'Bus round trip, p95': [
    [null, 'green'],
    [0.02, 'orange'],
    [0.05, 'red'],
  ],
  'Waiting approvals': [
    [null, 'green'],
    [1, 'orange'],
  ],
  'Entries left out': [
    [null, 'green'],
    [1, 'orange'],
  ],
  'Unreadable, in an hour': [
    [null, 'green'],
    [1, 'red'],
  ],
  Refused: [
    [null, 'green'],
    [0.05, 'orange'],
    [0.2, 'red'],
  ],
};

/** A click on a series of one server opens the dashboard of that server, for the same time and installations. */
function linksOf({ kind, queries }: Panel): readonly object[] {
  if (!queries.some(([, query]) => /by \([^)]*\bserver\b/.test(query))) return [];
  const chosen = kind === 'table' ? '${__data.fields.server}' : '${__field.labels.server}';
  const url = `/d/omnibus-server?\${__url_time_range}&\${datasource:queryparam}&\${namespace:queryparam}&\${job:queryparam}&var-server=${chosen}`;
  return [{ title: 'This server', url }];
}

/** Each alert that fires is a mark in every panel. */
const firing = {
  name: 'Alerts',
  datasource,
  enable: true,
  iconColor: 'red',
  expr: 'ALERTS{alertname=~"Omnibus.+", alertstate="firing", job=~"$job", namespace=~"$namespace"}',
  titleFormat: '{{alertname}}',
  textFormat: '{{severity}} {{server}}',
};

const ofServer = 'label_values(omnibus_upstream_state{job=~"$job", namespace=~"$namespace"}, server)';
const height: Record<Panel['kind'], number> = { stat: 4, timeseries: 8, table: 9 };
const columns = 24;

const serverChoice = {
  name: 'server',
  label: 'Server',
  type: 'query',
  datasource,
  refresh: 2,
  sort: 1,
  query: { query: ofServer, refId: 'server' },
  definition: ofServer,
};

/** The model Grafana imports (dashboard schema 39), for a data source the user chooses. */
export function grafanaModel({ uid, title, description, hasServer, panels }: Dashboard): object {
  let [x, y, rowHeight] = [0, 0, 0];
  return {
    uid,
    title,
    description,
    tags: ['omnibus'],
    schemaVersion: 39,
    version: 1,
    editable: true,
    refresh: '30s',
    time: { from: 'now-1h', to: 'now' },
    graphTooltip: 1,
    links: [{ type: 'dashboards', tags: ['omnibus'], asDropdown: false, keepTime: true, title: 'Omnibus' }],
    annotations: { list: [firing] },
    templating: {
      list: [
        { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
        choice('namespace', 'Namespace', 'omnibus_bus_connected'),
        choice('job', 'Installation (job)', 'omnibus_bus_connected{namespace=~"$namespace"}'),
        ...(hasServer ? [serverChoice] : []),
      ],
    },
    panels: panels.map((panel, index) => {
      if (x + panel.width > columns) [x, y, rowHeight] = [0, y + rowHeight, 0];
      const gridPos = { x, y, w: panel.width, h: height[panel.kind] };
      x += panel.width;
      rowHeight = Math.max(rowHeight, gridPos.h);
      return { id: index + 1, ...panelModel(panel, gridPos) };
    }),
  };
}

const optionsOf: Record<Panel['kind'], object> = {
  timeseries: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
  stat: { reduceOptions: { calcs: ['lastNotNull'] } },
  table: {},
};

function panelModel(panel: Panel, gridPos: object): object {
  const steps = thresholds[panel.title]?.map(([value, color]) => ({ value, color }));
  const links = linksOf(panel);
  return {
    type: panel.kind,
    title: panel.title,
    description: panel.description,
    datasource,
    gridPos,
    fieldConfig: {
      defaults: {
        unit: panel.unit,
        min: 0,
        ...(steps === undefined ? {} : { thresholds: { mode: 'absolute', steps } }),
        ...(links.length === 0 ? {} : { links }),
        ...(panel.kind === 'timeseries' ? { custom: { fillOpacity: 8, showPoints: 'never' } } : {}),
      },
      overrides: [],
    },
    options: optionsOf[panel.kind],
    targets: panel.queries.map(([legendFormat, expr], query) => ({
      refId: String.fromCodePoint(65 + query),
      datasource,
      expr,
      ...(panel.kind === 'timeseries'
        ? { legendFormat }
        : { instant: true, format: panel.kind === 'table' ? 'table' : 'time_series' }),
    })),
  };
}
