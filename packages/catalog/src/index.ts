export { checkEntries } from './entry.ts';
export type { EndpointDefinition } from './profile.ts';
export { View } from './view.ts';
export type { Route } from './view.ts';
