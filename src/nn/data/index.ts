export { ArrayDataset, type ArrayRecord, collate, type Dataset } from './dataset.js';
export { Loader, type LoaderOptions, type LoaderProgress, type LoaderState } from './loader.js';
