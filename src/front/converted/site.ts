/**
 * The place of a construct as an error tells it: the file of a frame, and the line and column as they were
 * written, which a frame has only where source maps are applied.
 */
export function siteSource(site: string, frame: string | undefined): { readonly source?: string } {
  if (frame === undefined) return {};
  return { source: frame.replace(/(:\d+){1,2}$/, '') + `:${site}` };
}
