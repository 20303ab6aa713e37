"""The collector: a service that takes reports in, keeps them once, and learns from them.

| module | what it is |
| --- | --- |
| `settings` | what an administrator says about a study or a poll, and the records that the store gives back |
| `intake` | a report on its way in, read strictly, and what became of it |
| `schema`, `migrations/` | the tables, for SQLite and PostgreSQL |
| `store` | all that is kept; `database`, `catalog`, `reports` and `published` are its parts |
| `ingest` | many single reports, one transaction |
| `estimates` | what is known, as the JSON of an estimate |
| `worker` | a process of its own that reads evidence and publishes rounds and estimates |
| `pages`, `static/` | the pages for people, and the poll page for another origin |

It needs `pip install tacit[collector]`; the rest of tacit does not.
"""
