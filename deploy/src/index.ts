export { alertRules, alerts, runbookOf } from './alerts.ts';
export { dashboards } from './dashboards.ts';
export { grafanaModel } from './grafana-model.ts';
export { valuesSchema } from './values-schema.ts';
