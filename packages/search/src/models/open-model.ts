/** Opens a model in a folder or behind an address. */
import type { EmbeddingModel, ModelSettings } from './embedding-model.ts';

/**
 * Opens the model of a configuration; its code is loaded now, and that of a runtime only for a model in a folder.
 * @throws {Error} if a folder has no prepared model.
 */
export async function openModel(settings: ModelSettings): Promise<EmbeddingModel> {
  const { folder, url } = settings;
  if (folder !== undefined) return (await import('./local.ts')).openFolder(folder);
  if (url === undefined) throw new Error('a model needs a folder or a URL');
  return (await import('./endpoint.ts')).endpointModel({ ...settings, url });
}
