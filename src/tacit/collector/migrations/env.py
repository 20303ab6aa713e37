"""How Alembic reaches the database: `Store.open` hands it a connection inside one transaction."""

from alembic import context

from tacit.collector.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,  # SQLite cannot alter a column in place
)
context.run_migrations()
