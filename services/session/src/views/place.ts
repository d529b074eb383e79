/** A place is an endpoint as it is for callers of one tenant: they do not see the servers of other tenants there. */
import type { EndpointName } from '@omnibus/protocol';

declare const ofTenant: unique symbol;
/** The endpoint alone for callers without a tenant; else the endpoint, a space (which no endpoint's name contains) and the tenant. */
export type Place = EndpointName | (string & { readonly [ofTenant]: true });

export function placeAt(endpoint: EndpointName, tenant: string | undefined): Place {
  return tenant === undefined ? endpoint : (`${endpoint} ${tenant}` as Place);
}

export function partsOf(place: Place): { readonly endpoint: EndpointName; readonly tenant: string | undefined } {
  const end = place.indexOf(' ');
  return end === -1
    ? { endpoint: place as EndpointName, tenant: undefined }
    : { endpoint: place.slice(0, end) as EndpointName, tenant: place.slice(end + 1) };
}
