export { checkEntries } from './entry.ts';
export type { EndpointDefinition } from './profile.ts';
export { aliasPrefix } from './uris.ts';
export type { ResourceMatch } from './uris.ts';
export { differences, isOfferKnown, offerKeyOf } from './offers.ts';
export { View } from './view.ts';
export type { Capability, Route, ViewProblem } from './view.ts';
export type { MissingServer } from './list-head.ts';
