export { alertRules, alerts, runbookOf } from './alerts.ts';
export { dashboards, grafanaModel } from './dashboards.ts';
export { valuesSchema } from './values-schema.ts';
